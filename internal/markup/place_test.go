package markup

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// aPage is a page of the cases, maybe with other line ends, or within a quote or a list.
type aPage struct {
	name   string
	format Format
	src    []byte
}

func pagesOfCases(t testing.TB) (list []aPage) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	testkit.Must(t, err)
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		testkit.Must(t, err)
		for _, f := range archive.Files {
			format, ok := FormatOf(f.Name)
			if !ok {
				continue
			}
			text := visible.Replace(string(f.Data))
			add := func(variant, text string) {
				list = append(list, aPage{name + ":" + f.Name + variant, format, []byte(text)})
			}
			add("", text)
			add(" in CRLF", strings.ReplaceAll(text, "\n", "\r\n"))
			add(" in CR", strings.ReplaceAll(text, "\n", "\r"))
			add(" with BOM", byteOrderMark+text)
			if format == Markdown && !strings.HasPrefix(text, "---") {
				add(" in a quote", "> "+strings.ReplaceAll(text, "\n", "\n> "))
				add(" in a list", "1. "+strings.ReplaceAll(text, "\n", "\n   "))
				add(" in a quoted list", "> - "+strings.ReplaceAll(text, "\n", "\n>   "))
			}
		}
	}
	return list
}

// editsOf are other texts of a form that are without errors.
func editsOf(text string) (list []string) {
	lines := strings.SplitAfter(text, "\n")
	edits := []string{"  # a & b &amp; <i> ]]> &lt;\n# second\n\n", "# new\n", "\n"}
	for i, at := range []int{len(lines) / 2, 0, len(lines) - 1, 1}[:testkit.Rounds(2, 4)] {
		at = min(at, len(lines))
		edited := strings.Join(lines[:at], "") + edits[i%len(edits)] + strings.Join(lines[at:], "")
		if block, _ := ParseForm(1, "", []byte(edited), nil); block.Form != nil {
			list = append(list, edited)
		}
	}
	return list
}

// Whatever the page is like, its other bytes stay, and the change back gives the same bytes.
func TestReplace(t *testing.T) {
	done := 0
	for _, page := range pagesOfCases(t) {
		for _, b := range read(page.format, 1, page.src).Blocks {
			for _, text := range editsOf(b.Text) {
				changed, err := Open(page.format, 1, page.src, nil).Replace(b.FormID, Tag(b.Text), text)
				if _, refused := errors.AsType[*forms.Invalid](err); refused && !errors.Is(err, errNotProven) {
					continue // a macro, or the like
				}
				testkit.Must(t, err)
				done++
				checkReplaced(t, page, changed, b, text)
				after := blockWith(read(page.format, 1, changed), b.FormID)
				back, err := Open(page.format, 1, changed, nil).Replace(b.FormID, Tag(after.Text), b.Text)
				if testkit.Must(t, err); !bytes.Equal(back, page.src) {
					t.Errorf("%s, %s: changed back to %q, want %q", page.name, b.FormID, back, page.src)
				}
			}
		}
	}
	if done < 1000 {
		t.Errorf("only %d done", done)
	}
}

func blockWith(page Page, formID string) Block {
	for _, b := range page.Blocks {
		if b.FormID == formID {
			return b
		}
	}
	return Block{}
}

// checkReplaced compares a page with the page before the change, by Parse.
func checkReplaced(t *testing.T, page aPage, changed []byte, old Block, text string) {
	t.Helper()
	before, after := read(page.format, 1, page.src), read(page.format, 1, changed)
	if len(before.Blocks) != len(after.Blocks) {
		t.Fatalf("%s: %d blocks, then %d", page.name, len(before.Blocks), len(after.Blocks))
	}
	testkit.Diff(t, page.name+", front matter", after.Meta, before.Meta)
	for i, b := range after.Blocks {
		was := before.Blocks[i].Text
		switch {
		case was != old.Text:
			testkit.Same(t, page.name+", another block", b.Text, was)
		case strings.Trim(b.Text, "\n") != strings.Trim(plainSpaces.Replace(text), "\n"):
			t.Errorf("%s: got %q, want %q", page.name, b.Text, text)
		}
	}
	for _, end := range []string{"\r\n", "\r", "\n", byteOrderMark} {
		had, has := bytes.Contains(page.src, []byte(end)), bytes.Contains(changed, []byte(end))
		if has && !had {
			t.Errorf("%s: %q is new in the page", page.name, end)
		}
	}
}

// Some blocks can't be written, by their place on the page.
func TestReplaceIsRefused(t *testing.T) {
	const text = "form: a\nfields: [{id: x, type: date}]\n"
	block := func(format Format, text string) string {
		b, err := FormBlock(format, []byte(text))
		testkit.Must(t, err)
		return b
	}
	inMarkdown, inXML := block(Markdown, text), block(Confluence, text)
	for name, tt := range map[string]struct {
		format Format
		page   string
		text   string
		want   string
	}{
		"another text":       {Markdown, block(Markdown, text+"# x\n"), text, (&Conflict{}).Error()},
		"two blocks":         {Markdown, inMarkdown + inMarkdown, text, "twice"},
		"two of one id":      {Markdown, inMarkdown + block(Markdown, text+"# x\n"), text, "twice"},
		"in a fallback, too": {Confluence, "<ac:adf-extension>" + inXML + "<ac:adf-fallback>" + inXML + "</ac:adf-fallback></ac:adf-extension>", text, "twice"},
		"after a fallback":   {Confluence, "<ac:adf-extension></ac:adf-extension>" + inXML, text + "# x", ""},
		"not closed":         {Markdown, strings.TrimSuffix(inMarkdown, "```\n"), text, "where this form ends"},
		"tag not closed":     {Wikitext, strings.TrimSuffix(block(Wikitext, text), "</pre>\n"), text, "where this form ends"},
		"front matter":       {Markdown, "---\nedit: [\n---\n" + inMarkdown, text, "can't be read"},
		"closes its fence":   {Markdown, inMarkdown, text + "# |\n```\n# x\n", "without changing something else"},
		"errors":             {Markdown, inMarkdown, "form: a\n", "errors"},
		"the id of another":  {Markdown, inMarkdown + block(Markdown, strings.Replace(text, "a", "b", 1)), strings.Replace(text, "a", "b", 1), "twice"},
		"too many forms":     {Markdown, inMarkdown + manyForms(t, MaxForms), text, "as a whole"},
		"ends its section":   {Confluence, inXML, text + "# ]]></ac:plain-text-body> &\n", ""},
		"ends its tag":       {Wikitext, block(Wikitext, text), text + "# </pre> &amp;\n", ""},
	} {
		was := text
		if tt.format == Wikitext {
			was = "\n" + text
		}
		_, err := Open(tt.format, 1, []byte(tt.page), nil).Replace("a", Tag(was), tt.text)
		got := fmt.Sprint(err)
		if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
			got = invalid.Errors[0].String()
		}
		if (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %q", name, got, tt.want)
		}
	}
}

// manyForms are blocks of Markdown with forms of their own.
func manyForms(t *testing.T, n int) (page string) {
	for i := range n {
		block, err := FormBlock(Markdown, fmt.Appendf(nil, "form: f%d\nfields: [{id: x, type: date}]\n", i))
		testkit.Must(t, err)
		page += block
	}
	return page
}

// A form that was saved before may have another id since. In the zone of the server, it may open before it closes.
func TestReplaceAgain(t *testing.T) {
	text := "form: b\nopens: 2026-11-19 18:00\ncloses: 2026-11-19T17:30:00Z\nfields: [{id: x, type: date}]\n"
	block, err := FormBlock(Wikitext, []byte("form: a\nfields: [{id: x, type: date}]\n"))
	testkit.Must(t, err)
	tag := Tag(read(Wikitext, 1, []byte(block)).Blocks[0].Text)
	options := &Options{Zone: time.FixedZone("", 3600)}
	changed, err := Open(Wikitext, 1, []byte(block), options).Replace("a", tag, text)
	testkit.Must(t, err)
	again, err := Open(Wikitext, 1, changed, options).Replace("a", tag, text)
	if testkit.Must(t, err); !bytes.Equal(again, changed) {
		t.Errorf("got %q", again)
	}
}

// A fence after a quote begins another block.
func TestRemoveLeavesTheNextFence(t *testing.T) {
	const page = "> ```yaml form\n> form: a\n> fields: [{id: x, type: date}]\n```\ncode\n```\n"
	_, err := Open(Markdown, 1, []byte(page), nil).Remove("", "a", Tag(read(Markdown, 1, []byte(page)).Blocks[0].Text))
	testkit.ErrorIs(t, "remove", err, errNotProven)
}

// A block that is added to any page can be removed again.
func TestAddAndRemove(t *testing.T) {
	const text = "form: an-added-one\nfields: [{id: x, type: date, label: a & b <i>}]\n"
	done := 0
	for _, page := range pagesOfCases(t) {
		changed, err := Open(page.format, 1, page.src, nil).Add(text)
		if _, refused := errors.AsType[*forms.Invalid](err); refused {
			continue // it is unreadable, or has no end
		}
		testkit.Must(t, err)
		done++
		added := blockWith(read(page.format, 1, changed), "an-added-one")
		rest, err := Open(page.format, 1, changed, nil).Remove("", added.FormID, Tag(added.Text))
		if testkit.Must(t, err); rest == nil {
			continue // nothing else is on the page
		}
		checkReplaced(t, page, rest, added, "")
	}
	if done < 400 {
		t.Errorf("only %d done", done)
	}
}

func TestRemove(t *testing.T) {
	const text = "form: a\nfields: [{id: x, type: date}]\n"
	for _, tt := range []struct {
		format Format
		page   string // @ is the block
		want   string // "" if nothing else is left
	}{
		{Markdown, "---\nedit: [a]\n---\n\n# Lunch #\n\n@\n", ""},
		{Markdown, "# Dinner\n\n@", "# Dinner\n\n"},
		{Markdown, "one\n\n@\ntwo\n", "one\n\ntwo\n"},
		{Markdown, "one\n@\ntwo\n", "one\n\ntwo\n"},
		{Markdown, "@\n\none\n", "\n\none\n"},
		{Markdown, "one\r\n\r\n@\r\ntwo\r\n", "one\r\n\r\ntwo\r\n"},
		{Confluence, "<h1>Lunch</h1>@", ""},
		{Confluence, "<p>one</p>\n\n@\n<p>two</p>", "<p>one</p>\n\n<p>two</p>"},
		{Wikitext, "= Lunch =\n@", ""},
		{Wikitext, "one\n\n@\ntwo", "one\n\ntwo"},
	} {
		block, err := FormBlock(tt.format, []byte(text))
		testkit.Must(t, err)
		if strings.Contains(tt.page, "\r") {
			block = strings.ReplaceAll(block, "\n", "\r\n")
		}
		page := []byte(strings.Replace(tt.page, "@", block, 1))
		tag := Tag(blockWith(read(tt.format, 1, page), "a").Text)
		got, err := Open(tt.format, 1, page, nil).Remove("Lunch", "a", tag)
		if err != nil || string(got) != tt.want {
			t.Errorf("%q: got %q, %v; want %q", tt.page, got, err, tt.want)
		}
	}
}

func TestAddAfterFrontMatterAlone(t *testing.T) {
	const text = "form: a\nfields: [{id: x, type: date}]\n"
	got, err := Open(Markdown, 1, []byte("---\nedit: [a]\n---"), nil).Add(text)
	testkit.Must(t, err)
	testkit.Same(t, "page", string(got), "---\nedit: [a]\n---\n\n```yaml form\n"+text+"```\n")
}

func TestAddToALayout(t *testing.T) {
	const text = "form: a\nfields: [{id: x, type: date}]\n"
	block, err := FormBlock(Confluence, []byte(text))
	testkit.Must(t, err)
	got, err := Open(Confluence, 1, []byte("<ac:layout><ac:layout-cell><p>x</p>\n</ac:layout-cell></ac:layout>"), nil).Add(text)
	testkit.Must(t, err)
	testkit.Same(t, "page", string(got), "<ac:layout><ac:layout-cell><p>x</p>\n"+block+"</ac:layout-cell></ac:layout>")
}

// FuzzPlace: whatever the page and the text are, other blocks and the front matter stay as they are.
func FuzzPlace(f *testing.F) {
	for _, page := range pagesOfCases(f) {
		f.Add(int(page.format), page.src, "form: a\nfields: [{id: x, type: date}]\n# ```\n# ]]>&lt;</pre>\n")
	}
	f.Fuzz(func(t *testing.T, format int, src []byte, text string) {
		page := aPage{"page", Format(1 + uint(format)%3), src}
		for _, b := range read(page.format, 1, src).Blocks {
			if changed, err := Open(page.format, 1, src, nil).Replace(b.FormID, Tag(b.Text), text); err == nil {
				checkReplaced(t, page, changed, b, blockText(text))
			}
			if changed, err := Open(page.format, 1, src, nil).Remove("", b.FormID, Tag(b.Text)); changed != nil && err == nil {
				testkit.Same(t, "blocks after Remove", len(read(page.format, 1, changed).Blocks), len(read(page.format, 1, src).Blocks)-1)
			}
		}
		if changed, err := Open(page.format, 1, src, nil).Add(text); err == nil {
			testkit.Same(t, "blocks after Add", len(read(page.format, 1, changed).Blocks), len(read(page.format, 1, src).Blocks)+1)
		}
	})
}
