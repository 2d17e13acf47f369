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
	register.Register(ast.KindHeading, r.renderHeading)
	register.Register(ast.KindParagraph, renderAs("<p"+autoDir+">", "</p>\n"))
	register.Register(ast.KindListItem, renderListItem)
	register.Register(extast.KindTable, renderAs("<table tabindex=\"0\">\n", "</table>\n")) // a wide one scrolls, by the keyboard, too
	register.Register(extast.KindTableCell, renderTableCell)
	register.Register(ast.KindLink, renderLink)
	register.Register(ast.KindAutoLink, renderWhole(autoLink))
	register.Register(ast.KindImage, renderWhole(image))
	register.Register(ast.KindRawHTML, renderWhole(rawHTML))
	register.Register(ast.KindHTMLBlock, renderWhole(htmlBlock))
	register.Register(extast.KindTaskCheckBox, renderWhole(task))
}

// autoDir has browsers find out whether a block is written right to left.
const autoDir = ` dir="auto"`

func (r nodes) renderHeading(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + strconv.Itoa(min(max(node.(*ast.Heading).Level-r.top, 0)+2, 6)) // h1 is the title's alone
	if entering {
		_, _ = w.WriteString("<" + tag + ` id="` + r.ids.next(plainText(node, source)) + `"` + autoDir + ">")
	} else {
		_, _ = w.WriteString("</" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}

// renderAs renders a node as an element with what the node contains.
func renderAs(begin, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(begin)
		} else {
			_, _ = w.WriteString(end)
		}
		return ast.WalkContinue, nil
	}
}

// renderWhole renders a node at once, with or without what it contains.
func renderWhole(render func(w util.BufWriter, source []byte, node ast.Node)) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			render(w, source, node)
		}
		return ast.WalkSkipChildren, nil
	}
}

func renderListItem(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</li>\n")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<li" + autoDir + ">")
	if first := node.FirstChild(); first != nil && first.Kind() != ast.KindTextBlock {
		_ = w.WriteByte('\n')
	}
	return ast.WalkContinue, nil
}

// renderTableCell aligns by a class: the usual style attribute is not allowed.
func renderTableCell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag, class := "td", ""
	if node.Parent().Kind() == extast.KindTableHeader {
		tag = "th"
	}
	if !entering {
		_, _ = w.WriteString("</" + tag + ">\n")
		return ast.WalkContinue, nil
	}
	if alignment := node.(*extast.TableCell).Alignment; alignment != extast.AlignNone {
		class = ` class="align-` + alignment.String() + `"`
	}
	_, _ = w.WriteString("<" + tag + class + autoDir + ">")
	return ast.WalkContinue, nil
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

// writeLink writes a label, as a link if there may be one.
func writeLink(w util.BufWriter, node ast.Node, href, label string) {
	label = template.HTMLEscapeString(label)
	if href == "" || inLink(node) {
		_, _ = w.WriteString(label)
		return
	}
	openLink(w, href)
	_, _ = w.WriteString(label + "</a>")
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

func autoLink(w util.BufWriter, source []byte, node ast.Node) {
	n := node.(*ast.AutoLink)
	destination := n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(destination), []byte("mailto:")) {
		destination = append([]byte("mailto:"), destination...)
	}
	writeLink(w, node, address(util.URLEscape(destination, false)), string(n.Label(source)))
}

// image renders an image as a link to it: the page loads nothing.
func image(w util.BufWriter, source []byte, node ast.Node) {
	label := cmp.Or(plainText(node, source), "image")
	writeLink(w, node, address(util.URLEscape(node.(*ast.Image).Destination, true)), label)
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
func rawHTML(w util.BufWriter, source []byte, node ast.Node) {
	raw := node.(*ast.RawHTML).Segments.Value(source)
	switch {
	case bytes.HasPrefix(raw, []byte("<!--")):
	case lineBreak.Match(raw):
		_, _ = w.WriteString("<br>")
	default:
		_, _ = w.WriteString(template.HTMLEscapeString(string(raw)))
	}
}

func htmlBlock(w util.BufWriter, source []byte, node ast.Node) {
	n := node.(*ast.HTMLBlock)
	raw := n.Lines().Value(source)
	if n.HasClosure() {
		raw = append(raw, n.ClosureLine.Value(source)...)
	}
	if !isComment(raw) {
		_, _ = w.WriteString("<pre dir=\"auto\">" + escapePre(string(raw)) + "</pre>\n")
	}
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

// task renders the box of a task as a character: an input could be taken for one of
// a form.
func task(w util.BufWriter, _ []byte, node ast.Node) {
	box := "☐ "
	if node.(*extast.TaskCheckBox).IsChecked {
		box = "☑ "
	}
	_, _ = w.WriteString(box)
}
