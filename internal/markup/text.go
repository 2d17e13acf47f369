package markup

import "bytes"

// MaxShownBytes is how much text of a page is kept to be shown.
const MaxShownBytes = 128 << 10

// Text is what people read of a Markdown page. Its lists and quotes are nested
// no deeper than Parse allows.
type Text struct {
	Source string  // without the front matter; line ends are \n
	Cut    bool    // Source is the beginning of a text of more than MaxShownBytes
	Places []Place // of all blocks that are marked as forms, in page order
}

// Place is where a form stands in a text.
type Place struct {
	At     int    // offset of the info string of its block
	FormID string // "" when it can't be read. Two blocks may have the same, and the first one is used
}

// text returns the text of a page with these forms. A page without forms is
// not shown, so its text is not kept.
func (p *reader) text(places []Place) *Text {
	if len(places) == 0 {
		return nil
	}
	body := p.src[p.body:]
	if len(body) <= MaxShownBytes {
		return &Text{Source: string(body), Places: places}
	}
	// It is cut after a line. If a line is that long, the cut may split a character.
	body = body[:MaxShownBytes]
	if end := bytes.LastIndexByte(body, '\n'); end >= 0 {
		body = body[:end+1]
	}
	return &Text{Source: string(bytes.ToValidUTF8(body, nil)), Cut: true, Places: places}
}
