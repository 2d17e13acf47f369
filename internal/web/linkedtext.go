package web

import (
	"regexp"
	"strings"
)

// linkedText is a text that an author wrote, with its links. It is empty without Parts.
type linkedText struct {
	Parts  []textPart
	Lang   string // language tag, or ""
	Framed bool   // links open in a new tab
}

// textPart is a piece of a text that an author wrote. If it is a link, Link is its
// address.
type textPart struct{ Text, Link string }

var address = regexp.MustCompile(`https://[^\s<>"“”„]+`)

// linkText divides a plain text into links and what is between them.
func linkText(text string) (parts []textPart) {
	end := 0
	for _, at := range address.FindAllStringIndex(text, -1) {
		link := withoutPunctuation(text[at[0]:at[1]])
		if link == "https://" {
			continue
		}
		if at[0] > end {
			parts = append(parts, textPart{Text: text[end:at[0]]})
		}
		parts = append(parts, textPart{Text: link, Link: link})
		end = at[0] + len(link)
	}
	if end < len(text) {
		parts = append(parts, textPart{Text: text[end:]})
	}
	return parts
}

// withoutPunctuation removes what ends a sentence after an address. A bracket stays
// if the address has its counterpart.
func withoutPunctuation(link string) string {
	for {
		short := strings.TrimRight(link, ".,;:!?'’‘…»*_")
		for _, pair := range []string{"()", "[]", "{}"} {
			rest, ok := strings.CutSuffix(short, pair[1:])
			if ok && strings.Count(rest, pair[:1]) <= strings.Count(rest, pair[1:]) {
				short = rest
			}
		}
		if short == link {
			return link
		}
		link = short
	}
}
