package pagehtml

import (
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/markup"
)

// allowed are the elements that a piece may have, and the attributes of each.
var allowed = map[string][]string{
	"h2": {"id", "dir"}, "h3": {"id", "dir"}, "h4": {"id", "dir"}, "h5": {"id", "dir"}, "h6": {"id", "dir"},
	"p": {"dir"}, "pre": {"dir"}, "ul": nil, "ol": {"start"}, "li": {"dir"}, "blockquote": nil, "hr": nil, "br": nil,
	"table": {"tabindex"}, "thead": nil, "tbody": nil, "tr": nil, "th": {"dir", "class"}, "td": {"dir", "class"},
	"em": nil, "strong": nil, "del": nil, "code": nil, "a": {"href", "rel"},
}

var values = map[string]*regexp.Regexp{
	"id": regexp.MustCompile(`^text-[-\pL\pM\p{Nd}]+$`), "dir": regexp.MustCompile(`^auto$`), "class": regexp.MustCompile(`^align-(left|right|center)$`),
	"start": regexp.MustCompile(`^[0-9]+$`), "tabindex": regexp.MustCompile(`^0$`), "rel": regexp.MustCompile(`^noopener noreferrer nofollow$`), "href": regexp.MustCompile(`.`),
}

// checkPieces checks what callers rely on.
func checkPieces(t *testing.T, pieces []Piece, formIDs []string) {
	t.Helper()
	c := &checker{T: t, ids: map[string]bool{}}
	var shown []string
	for _, p := range pieces {
		if p.HTML != "" {
			c.html(p.HTML)
		}
		if p.HTML != "" && (p.FormID != "" || p.Missing) || p == (Piece{}) {
			t.Errorf("piece %+v", p)
		}
		if p.HTML == "" && !p.Missing {
			shown = append(shown, p.FormID)
		}
	}
	want := slices.Sorted(slices.Values(formIDs))
	if slices.Sort(shown); !slices.Equal(shown, want) {
		t.Errorf("forms %q are shown, want %q", shown, want)
	}
}

type checker struct {
	*testing.T
	ids  map[string]bool
	open []string // elements
}

// html checks that a piece is complete, and has nothing that is not allowed.
func (c *checker) html(piece template.HTML) {
	c.Helper()
	for z := html.NewTokenizer(strings.NewReader(string(piece))); ; {
		switch kind, token := z.Next(), z.Token(); kind {
		case html.ErrorToken:
			if len(c.open) > 0 {
				c.Errorf("%v are open at the end of %.2000s", c.open, piece)
			}
			return
		case html.TextToken:
			if strings.ContainsFunc(token.Data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
				c.Errorf("control character in %.2000q", token.Data)
			}
		case html.StartTagToken:
			c.element(token)
			if token.Data != "br" && token.Data != "hr" {
				c.open = append(c.open, token.Data)
			}
		case html.EndTagToken:
			if n := len(c.open); n == 0 || c.open[n-1] != token.Data {
				c.Fatalf("</%s> closes %v in %.2000s", token.Data, c.open, piece)
			}
			c.open = c.open[:len(c.open)-1]
		default:
			c.Errorf("%v %q", kind, token)
		}
	}
}

func (c *checker) element(token html.Token) {
	c.Helper()
	attributes, ok := allowed[token.Data]
	if !ok || token.Data == "a" && slices.Contains(c.open, "a") {
		c.Errorf("element %s in %v", token, c.open)
	}
	for _, a := range token.Attr {
		if a.Namespace != "" || !slices.Contains(attributes, a.Key) || !values[a.Key].MatchString(a.Val) {
			c.Errorf("attribute %s=%q of %s", a.Key, a.Val, token.Data)
		}
		switch {
		case a.Key == "id" && c.ids[a.Val]:
			c.Errorf("id %q appears twice", a.Val)
		case a.Key == "id":
			c.ids[a.Val] = true
		case a.Key == "href":
			u, err := url.Parse(a.Val)
			if err != nil || !slices.Contains([]string{"", "http", "https", "mailto"}, u.Scheme) {
				c.Errorf("link to %q: %v", a.Val, err)
			}
		}
	}
	if token.Data == "a" && len(token.Attr) != 2 {
		c.Errorf("link %s", token)
	}
}

// FuzzRender starts from the cases. It calls render, so that panics are seen.
func FuzzRender(f *testing.F) {
	for _, name := range archives(f) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	for _, payload := range payloads {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		renderPage(t, markup.Markdown, src)
		renderPage(t, markup.Markdown, append([]byte(form+"\n"), src...))
		for format, form := range otherForms {
			renderPage(t, format, append([]byte(form), src...))
		}
	})
}
