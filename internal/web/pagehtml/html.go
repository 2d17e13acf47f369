package pagehtml

import (
	"bytes"
	"cmp"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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
	headings := []string{"h2", "h3", "h4", "h5", "h6"}
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^` + idPrefix + `[-\p{L}\p{M}\p{Nd}]+$`)).OnElements(headings...)
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^auto$`)).
		OnElements(append(headings, "p", "li", "th", "td", "pre")...)
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

// newRenderer returns a renderer for one page, whose highest heading has level top.
// It writes no raw HTML and no address that could run script, and it does not
// change the nodes.
func newRenderer(top int) renderer.Renderer {
	return renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(html.NewRenderer(), 1000),
		util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		util.Prioritized(nodes{headingIDs{}, top}, 100), // later than, and instead of, those of the others
	))
}

// nodes renders what the page shows otherwise than Markdown usually does.
type nodes struct {
	ids headingIDs
	top int
}

func (r nodes) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHeading, around(r.heading))
	register.Register(ast.KindParagraph, around(tags("<p"+autoDir+">", "</p>\n")))
	register.Register(ast.KindListItem, around(listItem))
	// A wide table scrolls, by the keyboard, too.
	register.Register(extast.KindTable, around(tags("<table tabindex=\"0\">\n", "</table>\n")))
	register.Register(extast.KindTableCell, around(tableCell))
	register.Register(ast.KindLink, around(link))
	register.Register(ast.KindAutoLink, whole(autoLink))
	register.Register(ast.KindImage, whole(image))
	register.Register(ast.KindRawHTML, whole(rawHTML))
	register.Register(ast.KindHTMLBlock, whole(htmlBlock))
	register.Register(extast.KindTaskCheckBox, whole(task))
}

// around renders a node with children: html returns its start tag when it is entered, and its
// end tag afterwards.
func around(html func(source []byte, node ast.Node, entering bool) string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		_, err := w.WriteString(html(source, node, entering))
		return ast.WalkContinue, err
	}
}

// whole renders a node at once, with or without what it contains.
func whole(html func(source []byte, node ast.Node) string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, node ast.Node, entering bool) (status ast.WalkStatus, err error) {
		if entering {
			_, err = w.WriteString(html(source, node))
		}
		return ast.WalkSkipChildren, err
	}
}

// autoDir has browsers find out whether a block is written right to left.
const autoDir = ` dir="auto"`

func (r nodes) heading(source []byte, node ast.Node, entering bool) string {
	tag := "h" + strconv.Itoa(min(max(node.(*ast.Heading).Level-r.top, 0)+2, 6)) // h1 is the title's alone
	if entering {
		return "<" + tag + ` id="` + r.ids.next(plainText(node, source)) + `"` + autoDir + ">"
	}
	return "</" + tag + ">\n"
}

// tags are always the same, whatever the node is.
func tags(start, end string) func(source []byte, node ast.Node, entering bool) string {
	return func(_ []byte, _ ast.Node, entering bool) string {
		if entering {
			return start
		}
		return end
	}
}

func listItem(_ []byte, node ast.Node, entering bool) string {
	if !entering {
		return "</li>\n"
	}
	if first := node.FirstChild(); first != nil && first.Kind() != ast.KindTextBlock {
		return "<li" + autoDir + ">\n"
	}
	return "<li" + autoDir + ">"
}

// tableCell aligns by a class: the usual style attribute is not allowed.
func tableCell(_ []byte, node ast.Node, entering bool) string {
	tag, class := "td", ""
	if node.Parent().Kind() == extast.KindTableHeader {
		tag = "th"
	}
	if !entering {
		return "</" + tag + ">\n"
	}
	if alignment := node.(*extast.TableCell).Alignment; alignment != extast.AlignNone {
		class = ` class="align-` + alignment.String() + `"`
	}
	return "<" + tag + class + autoDir + ">"
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

func openLink(href string) string {
	return `<a href="` + template.HTMLEscapeString(href) + `" rel="` + linkRel + `">`
}

// labelled is a label, as a link if there may be one.
func labelled(node ast.Node, href, label string) string {
	label = template.HTMLEscapeString(label)
	if href == "" || inLink(node) {
		return label
	}
	return openLink(href) + label + "</a>"
}

func link(_ []byte, node ast.Node, entering bool) string {
	href := address(util.URLEscape(node.(*ast.Link).Destination, true))
	switch {
	case href == "":
		return "" // its text alone
	case entering:
		return openLink(href)
	default:
		return "</a>"
	}
}

func autoLink(source []byte, node ast.Node) string {
	n := node.(*ast.AutoLink)
	destination := n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(destination), []byte("mailto:")) {
		destination = append([]byte("mailto:"), destination...)
	}
	return labelled(node, address(util.URLEscape(destination, false)), string(n.Label(source)))
}

// image renders an image as a link to it: the page loads nothing.
func image(source []byte, node ast.Node) string {
	href := address(util.URLEscape(node.(*ast.Image).Destination, true))
	return labelled(node, href, cmp.Or(plainText(node, source), "image"))
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

// rawHTML shows HTML as it is written, except comments and line breaks.
func rawHTML(source []byte, node ast.Node) string {
	raw := node.(*ast.RawHTML).Segments.Value(source)
	switch {
	case bytes.HasPrefix(raw, []byte("<!--")):
		return ""
	case lineBreak.Match(raw):
		return "<br>"
	default:
		return template.HTMLEscapeString(string(raw))
	}
}

func htmlBlock(source []byte, node ast.Node) string {
	n := node.(*ast.HTMLBlock)
	raw := n.Lines().Value(source)
	if n.HasClosure() {
		raw = append(raw, n.ClosureLine.Value(source)...)
	}
	if isComment(raw) {
		return ""
	}
	return "<pre" + autoDir + ">" + escapePre(string(raw)) + "</pre>\n"
}

// isComment reports whether a block of HTML is one comment and nothing else.
func isComment(raw []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(raw), []byte("<!--"))
	end := bytes.Index(rest, []byte("-->"))
	return ok && (end < 0 || end+len("-->") == len(rest))
}

// task renders the box of a task as a character: an input could be taken for one of
// a form.
func task(_ []byte, node ast.Node) string {
	if node.(*extast.TaskCheckBox).IsChecked {
		return "☑ "
	}
	return "☐ "
}
