package pagetext

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// policy is a second net below the renderer, which writes nothing else on its own.
var policy = newPolicy()

const linkRel = "noopener noreferrer nofollow"

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "pre", "ul", "ol", "li",
		"table", "thead", "tbody", "tr", "th", "td", "em", "strong", "del", "code",
	)
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^`+idPrefix+`[-\p{L}\p{M}\p{Nd}]+$`)).OnElements("h2", "h3", "h4", "h5", "h6")
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^auto$`)).OnElements("h2", "h3", "h4", "h5", "h6", "p", "li", "th", "td", "pre")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^align-(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("table")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^` + linkRel + `$`)).OnElements("a")
	p.AllowURLSchemes(schemes...)
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	return p
}

// sanitize keeps what the policy allows.
func sanitize(raw []byte) template.HTML {
	clean := bytes.TrimSpace(policy.SanitizeBytes(raw))
	return template.HTML(visible(string(clean))) //nolint:gosec // G203: this is where it is made safe
}

// visible replaces characters that HTML does not allow: control characters except
// tab and line feed.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, s)
}

// htmlRenderer writes no raw HTML and no address that could run script.
var htmlRenderer = renderer.NewRenderer(renderer.WithNodeRenderers(
	util.Prioritized(html.NewRenderer(), 1000),
	util.Prioritized(extension.NewTableHTMLRenderer(), 500),
	util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
	util.Prioritized(nodes{}, 100), // later than, and instead of, those of the others
))

// appendHTML appends the HTML of a block, which is to be sanitized.
func appendHTML(dst []byte, block ast.Node, source []byte) []byte {
	w := bytes.NewBuffer(dst)
	_ = htmlRenderer.Render(w, source, block) // a buffer takes all
	return w.Bytes()
}

// nodes renders what the page shows otherwise than Markdown usually does.
type nodes struct{}

func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindAutoLink, renderAutoLink)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindRawHTML, renderRawHTML)
	r.Register(ast.KindHTMLBlock, renderHTMLBlock)
	r.Register(extast.KindTaskCheckBox, renderTask)
}

var schemes = []string{"http", "https", "mailto"}

// address returns where a link leads, or "" if it may not lead there. Links to
// headings get the prefix that the ids of headings have.
func address(escaped []byte) string {
	s := string(bytes.TrimSpace(escaped))
	if id, ok := strings.CutPrefix(s, "#"); ok && id != "" {
		s = "#" + idPrefix + id
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "" && !slices.Contains(schemes, u.Scheme) {
		return ""
	}
	return u.String() // what the policy makes of it: "#" alone leads nowhere
}

func openLink(w util.BufWriter, href string) {
	_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(href) + `" rel="` + linkRel + `">`)
}

func renderLink(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	href := address(util.URLEscape(node.(*ast.Link).Destination, true))
	switch {
	case href == "": // its text alone
	case entering:
		openLink(w, href)
	default:
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func renderAutoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	destination, label := n.URL(source), template.HTMLEscapeString(string(n.Label(source)))
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(destination), []byte("mailto:")) {
		destination = append([]byte("mailto:"), destination...)
	}
	href := address(util.URLEscape(destination, false))
	if href == "" || inLink(node) {
		_, _ = w.WriteString(label)
		return ast.WalkContinue, nil
	}
	openLink(w, href)
	_, _ = w.WriteString(label + "</a>")
	return ast.WalkContinue, nil
}

// renderImage renders an image as a link to it: the page loads nothing.
func renderImage(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	href, label := address(util.URLEscape(node.(*ast.Image).Destination, true)), plainText(node, source)
	if label == "" {
		label = "image"
	}
	label = template.HTMLEscapeString(label)
	if href == "" || inLink(node) {
		_, _ = w.WriteString(label)
		return ast.WalkSkipChildren, nil
	}
	openLink(w, href)
	_, _ = w.WriteString(label + "</a>")
	return ast.WalkSkipChildren, nil
}

// inLink reports whether a node is inside a link, where no other link may be.
func inLink(node ast.Node) bool {
	for n := node.Parent(); n != nil && n.Type() == ast.TypeInline; n = n.Parent() {
		if n.Kind() == ast.KindLink {
			return true
		}
	}
	return false
}

var lineBreak = regexp.MustCompile(`(?i)^<br\s*/?>$`)

// renderRawHTML shows HTML as it is written, except comments and line breaks.
func renderRawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	raw := node.(*ast.RawHTML).Segments.Value(source)
	switch {
	case bytes.HasPrefix(raw, []byte("<!--")):
	case lineBreak.Match(raw):
		_, _ = w.WriteString("<br>")
	default:
		_, _ = w.WriteString(template.HTMLEscapeString(string(raw)))
	}
	return ast.WalkSkipChildren, nil
}

func renderHTMLBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.HTMLBlock)
	raw := n.Lines().Value(source)
	if n.HasClosure() {
		raw = append(raw, n.ClosureLine.Value(source)...)
	}
	if !isComment(raw) {
		_, _ = w.WriteString("<pre dir=\"auto\">" + escapePre(string(raw)) + "</pre>\n")
	}
	return ast.WalkContinue, nil
}

// isComment reports whether a block of HTML is one comment and nothing else.
func isComment(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	rest, ok := bytes.CutPrefix(raw, []byte("<!--"))
	if !ok {
		return false
	}
	end := bytes.Index(rest, []byte("-->"))
	return end < 0 || end+len("-->") == len(rest)
}

// renderTask renders the box of a task as a character: an input could be taken
// for one of a form.
func renderTask(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	switch {
	case !entering:
	case node.(*extast.TaskCheckBox).IsChecked:
		_, _ = w.WriteString("☑ ")
	default:
		_, _ = w.WriteString("☐ ")
	}
	return ast.WalkContinue, nil
}
