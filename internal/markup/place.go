package markup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// Tag identifies the text of a block.
func Tag(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:8])
}

// ErrConflict is what a Conflict wraps.
var ErrConflict = errors.New("the page has changed")

// Conflict is the error if the page has no block with this id and Tag, or names other people than were shown.
type Conflict struct {
	Text   string // of the form now; "" if the page has none with this id
	People People // now
}

func (*Conflict) Error() string { return ErrConflict.Error() }

func (*Conflict) Unwrap() error { return ErrConflict }

// refusal is an error that says why a page can't be written.
func refusal(why *forms.Message) error { return forms.InvalidRequest(why) }

var (
	errUnreadable = refusal(forms.Say("This page can't be read as a whole. Mend it first."))
	errNotProven  = refusal(forms.Say("This can't be written to the page without changing something else. " +
		"Change it on the page itself."))
)

// Source is a page that can be written. Its methods return another source. They read it again, to prove that nothing
// else has changed. Their errors are *forms.Invalid, and *Conflict.
type Source struct {
	*reader
	Page
	Format Format
	Bytes  []byte // with their line ends
}

// Open reads a page as Parse does.
func Open(format Format, nameID int64, src []byte, options *Options) *Source {
	page, p := parse(format, nameID, src, options, nil)
	page.Unreadable = page.Unreadable || len(p.found) > MaxForms
	return &Source{p, page, format, src}
}

// Replace replaces the text of one block, the only one with this id and Tag. Only the bytes of lines that differ are
// other ones. If the page has this text already, it stays.
func (p *Source) Replace(formID, tag, text string) ([]byte, error) {
	i, err := p.find(formID, tag)
	if _, isConflict := errors.AsType[*Conflict](err); isConflict &&
		slices.ContainsFunc(p.found, func(b rawBlock) bool { return isSame(b.Text, text) }) {
		return p.Bytes, nil
	}
	if err != nil {
		return nil, err
	}
	b := &p.found[i]
	wanted := strings.TrimPrefix(blockText(text), "\n")
	if strings.HasPrefix(b.Text, "\n") { // after a tag
		wanted = "\n" + wanted
	}
	if !strings.HasSuffix(b.Text, "\n") {
		wanted = strings.TrimSuffix(wanted, "\n")
	}
	if wanted == b.Text {
		return p.Bytes, nil
	}
	from, to, lines := p.differing(b, wanted)
	if p.Format == Confluence { // in a CDATA section?
		if changed, err := p.write(from, to, inSection(lines), i, i, text); !errors.Is(err, errNotProven) {
			return changed, err
		}
	}
	if p.Format != Markdown {
		lines = entities.Replace(lines)
	}
	return p.write(from, to, lines, i, i, text)
}

// Add puts one more block after the text of the page.
func (p *Source) Add(text string) ([]byte, error) {
	block, err := FormBlock(p.Format, []byte(text))
	switch {
	case p.Unreadable:
		return nil, errUnreadable
	case err != nil:
		return nil, refusal(forms.English("%v", err))
	}
	at := len(p.src)
	if cell := bytes.LastIndex(p.src, []byte("</ac:layout-cell>")); p.Format == Confluence && cell >= 0 {
		at = cell
	}
	if gap := 2 - (at - len(bytes.TrimRight(p.src, "\n"))); at > 0 && p.Format != Confluence && gap > 0 {
		block = strings.Repeat("\n", gap) + block
	}
	return p.write(at, at, block, len(p.found), -1, text)
}

// Remove removes one block, see Replace. Nothing is left where at most front matter, blank lines and a heading that is
// the title would be.
func (p *Source) Remove(title, formID, tag string) ([]byte, error) {
	i, err := p.find(formID, tag)
	if err != nil {
		return nil, err
	}
	from, to := p.extent(&p.found[i])
	if to < 0 {
		return nil, errNotProven
	}
	rest := strings.TrimSpace(string(p.src[p.body:from]) + string(p.src[to:]))
	if m := loneHeading.FindStringSubmatch(rest); m != nil {
		rest = strings.TrimPrefix(html.UnescapeString(m[1]+m[2]+m[3]), strings.TrimSpace(title))
	}
	changed, err := p.write(from, to, "", -1, i, "")
	if rest == "" {
		changed = nil
	}
	return changed, err
}

var loneHeading = regexp.MustCompile(
	`^(?:#{1,6}[ \t]+(.*?)[ \t#]*|<h[1-6]>([^<]*)</h[1-6]>|={1,6}[ \t]*(.*?)[ \t]*={1,6})$`)

// blockText is a text as Parse finds it in a block.
func blockText(text string) string {
	r := newReader([]byte(text))
	return plainSpaces.Replace(endLine(string(r.src[r.body:])))
}

// isSame reports whether a block has this text. Its first and last line end are the page's.
func isSame(onPage, text string) bool {
	return strings.TrimPrefix(endLine(onPage), "\n") == strings.TrimPrefix(blockText(text), "\n")
}

// find returns the index of a block that can be written.
func (p *Source) find(formID, tag string) (int, error) {
	if p.Unreadable {
		return 0, errUnreadable
	}
	conflict := &Conflict{}
	for i, b := range p.found {
		switch {
		case b.FormID != formID:
		case Tag(b.Text) == tag:
			return i, p.mayWrite(i)
		case conflict.Text == "":
			conflict.Text = b.Text
		}
	}
	return 0, conflict
}

// mayWrite tells why a block can't be written.
func (p *Source) mayWrite(at int) error {
	b := &p.found[at]
	before := string(p.src[:b.at]) // Cloud repeats the content of such an element
	isTwice := strings.Count(before, "<ac:adf-extension") > strings.Count(before, "</ac:adf-extension")
	for i, other := range p.found {
		isTwice = isTwice || i != at && (other.Text == b.Text || b.FormID != "" && other.FormID == b.FormID)
	}
	switch {
	case b.text == nil:
		return refusal(forms.Say("This form is made of macros. It can be changed in Confluence only."))
	case isTwice:
		return refusal(forms.Say("This form is on the page twice. Remove one of them first."))
	case b.open, b.failed, b.text.full(), b.Text == "":
		return refusal(forms.Say("The page does not tell where this form ends. Close its block first."))
	}
	return nil
}

// write replaces a part of the page. It proves that all else is as before, except that block j has gone, and that
// block i has the text now. -1 is none.
func (p *Source) write(from, to int, lines string, i, j int, text string) ([]byte, error) {
	changed := p.splice(from, to, lines)
	after := Open(p.Format, p.ID, changed, p.server)
	after.Meta.Names = p.Meta.Names // the lines of View and Edit
	switch {
	case after.Unreadable, i >= len(after.found), i >= 0 && !isSame(after.found[i].Text, text),
		!reflect.DeepEqual(after.Meta, p.Meta), !slices.Equal(after.others(i), p.others(j)):
		return nil, errNotProven
	case i < 0:
		return changed, nil
	case after.found[i].Form == nil:
		return nil, refusal(forms.Say("A form with errors can't be saved."))
	}
	return changed, after.mayWrite(i)
}

// others describes all blocks but one.
func (p *Source) others(than int) (list []string) {
	for i, b := range p.found {
		if i != than {
			list = append(list, fmt.Sprint(b.open, b.Form == nil, b.Text))
		}
	}
	return list
}

var lineEnd = regexp.MustCompile(`\r\n?|\n`)

// splice replaces a part of the page, whose offsets count in src. Line ends are as on the page.
func (p *Source) splice(from, to int, text string) []byte {
	if end := lineEnd.Find(p.Bytes); end != nil {
		text = strings.ReplaceAll(text, "\n", string(end))
	}
	return slices.Concat(p.Bytes[:p.inOriginal(from)], []byte(text), p.Bytes[p.inOriginal(to):])
}

// inOriginal turns an offset in src into one in the page with its own line ends.
func (p *Source) inOriginal(at int) (i int) {
	for range at {
		if bytes.HasPrefix(p.Bytes[i:], []byte("\r\n")) {
			i++
		}
		i++
	}
	return i
}

// differing returns which part of the page has the lines that differ, and what belongs there.
func (p *Source) differing(b *rawBlock, wanted string) (from, to int, text string) {
	raw := b.text.text()
	lines, was, wants := strings.SplitAfter(raw, "\n"), strings.SplitAfter(b.Text, "\n"), strings.SplitAfter(wanted, "\n")
	first, n, m := 0, len(was), len(wants)
	for first < min(n, m)-1 && was[first] == wants[first] {
		first++
	}
	for n > first && m > first && was[n-1] == wants[m-1] {
		n, m = n-1, m-1
	}
	begin, end := len(strings.Join(lines[:first], "")), len(strings.Join(lines[:n], ""))
	from, to = b.text.pageOffset(begin), b.text.pageOffset(end)
	text = strings.Join(wants[first:m], "")
	if p.Format != Markdown {
		return from, to, text
	}
	prefix := p.prefix(b)
	text = strings.ReplaceAll(text, "\n", "\n"+prefix)
	if begin == len(raw) {
		text = prefix + text
	}
	if end == len(raw) {
		text = strings.TrimSuffix(text, prefix)
	}
	return from, to, text
}

// prefix is what the lines of a Markdown block have before them: quotes, and the indentation of lists.
func (p *Source) prefix(b *rawBlock) string {
	first := b.text.pageOffset(0)
	return string(p.src[p.lineStart(first):first])
}

// lineStart is where the line begins, or the text of the page.
func (p *Source) lineStart(at int) int { return max(bytes.LastIndexByte(p.src[:at], '\n')+1, p.body) }

var (
	closingFence = regexp.MustCompile("^ {0,3}(?:`{3,}|~{3,})[ \t]*(?m:$)")
	blankLine    = regexp.MustCompile(`^[ \t]*(?:\n|$)`)
	afterBlank   = regexp.MustCompile(`(?:^|\n)[ \t]*\n$`)
)

// extent is the part of the page that goes with a block. The closing fence may stand in other quotes and lists, so that
// it begins another block: then to is -1.
func (p *Source) extent(b *rawBlock) (from, to int) {
	from, to = b.at, b.end
	line := p.lineStart(from)
	if p.Format == Markdown {
		rest, isInside := bytes.CutPrefix(p.src[to:], []byte(p.prefix(b)))
		closing := closingFence.Find(rest)
		if !isInside || closing == nil {
			return 0, -1
		}
		from, to = line, len(p.src)-len(rest)+len(closing)
	}
	if from == line {
		to += len(blankLine.Find(p.src[to:]))
	}
	if afterBlank.Match(p.src[p.body:from]) {
		to += len(blankLine.Find(p.src[to:]))
	}
	return from, to
}
