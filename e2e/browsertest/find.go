package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Roles of fields, as chromium calls them.
var (
	textRoles   = []string{"textbox", "searchbox", "spinbutton", "combobox", "Date"}
	selectRoles = []string{"combobox", "listbox"}
	fileRoles   = []string{"button"}
	valueRoles  = []string{"textbox", "searchbox", "spinbutton", "combobox", "Date", "listbox", "radio", "checkbox"}
)

// In returns the page with a view on one group: a fieldset by its legend, or
// whatever else has this accessible name. Its methods find elements there only.
func (p *Page) In(group string) *Page {
	return &Page{tab: p.tab, t: p.t, group: group, inner: p.inner}
}

// Click clicks in the middle of the element that has this role and accessible
// name: ("button", "Send"), ("link", "Change"), ("radio", "Yes"). If the click
// leads to another document, wait for it by Loads.
func (p *Page) Click(role, name string) {
	p.t.Helper()
	p.ClickTimes(1, role, name)
}

// ClickTimes clicks several times, without a pause.
func (p *Page) ClickTimes(times int, role, name string) {
	p.t.Helper()
	node := p.find(name, role)
	ctx, cancel := p.limited()
	defer cancel()
	x, y, err := middle(ctx, node)
	p.must(fmt.Sprintf("find where %s %q is", role, name), err)
	for i := range times {
		p.must("click", chromedp.Do(ctx, chromedp.MouseClickXY(x, y, chromedp.ClickCount(i+1))))
	}
}

// middle scrolls to an element and returns the middle of its first box.
func middle(ctx context.Context, node cdp.BackendNodeID) (x, y float64, err error) {
	if _, err := chromedp.Call(ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node}); err != nil {
		return 0, 0, err
	}
	boxes, err := chromedp.Call(ctx, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node})
	if err != nil {
		return 0, 0, err
	}
	if len(boxes.Quads) == 0 {
		return 0, 0, fmt.Errorf("it is not visible")
	}
	corners := boxes.Quads[0] // x and y of four corners
	for i := 0; i < len(corners); i += 2 {
		x, y = x+corners[i]/4, y+corners[i+1]/4
	}
	return x, y, nil
}

// Fill replaces the text of a field that has this label.
func (p *Page) Fill(label, text string) {
	p.t.Helper()
	node := p.find(label, textRoles...)
	if p.callOn(node, "function() { return this.type }") == `"date"` {
		// What is typed into a date depends on the language.
		p.callOn(node, setValue, text)
		return
	}
	p.callOn(node, "function() { this.focus(); this.select(); window.filledIn ??= performance.now() }")
	ctx, cancel := p.limited()
	defer cancel()
	var err error
	if text == "" {
		err = chromedp.Do(ctx, chromedp.KeyEvent("\b"))
	} else {
		_, err = chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
	}
	p.must("fill in "+label, err)
}

const setValue = `function(value) {
	window.filledIn ??= performance.now();
	this.value = value;
	this.dispatchEvent(new Event("input", {bubbles: true}));
	this.dispatchEvent(new Event("change", {bubbles: true}));
}`

// Select chooses an option of a select element.
func (p *Page) Select(label, option string) {
	p.t.Helper()
	value := p.callOn(p.find(label, selectRoles...), `function(text) {
		const option = [...this.options].find(o => o.label === text);
		if (!option) return null;
		(`+setValue+`).call(this, option.value);
		return option.label;
	}`, option)
	if value == "null" {
		p.t.Fatalf("%q has no option %q", label, option)
	}
}

// Attach chooses files for a file field.
func (p *Page) Attach(label string, paths ...string) {
	p.t.Helper()
	node := p.find(label, fileRoles...)
	ctx, cancel := p.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{BackendNodeID: node, Files: paths})
	p.must("attach to "+label, err)
}

// Value returns what a field holds. Of a radio or a checkbox it is "on" or "off".
func (p *Page) Value(label string) string {
	p.t.Helper()
	text := p.callOn(p.find(label, valueRoles...), `function() {
		return this.type === "radio" || this.type === "checkbox" ? (this.checked ? "on" : "off") : this.value;
	}`)
	var value string
	p.must("read "+label, json.Unmarshal([]byte(text), &value))
	return value
}

// Has reports whether the page shows an element of this role and name now.
func (p *Page) Has(role, name string) bool {
	p.t.Helper()
	nodes, err := p.query(name, role)
	p.must("look for "+name, err)
	return len(nodes) > 0
}

// Focused returns role and name of what has the focus: `button "Send"`.
func (p *Page) Focused() string {
	p.t.Helper()
	object := do(p, "find the focus", chromedp.Evaluate[*runtime.RemoteObject]("document.activeElement"))
	ctx, cancel := p.limited()
	defer cancel()
	tree, err := chromedp.Call(ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{
		ObjectID: object.ObjectID, FetchRelatives: new(bool),
	})
	p.must("find the focus", err)
	return fmt.Sprintf("%s %q", text(tree.Nodes[0].Role), text(tree.Nodes[0].Name))
}

// find waits until there is exactly one element of a name and one of the roles.
func (p *Page) find(name string, roles ...string) cdp.BackendNodeID {
	p.t.Helper()
	var nodes []*accessibility.Node
	defer func() {
		if len(nodes) != 1 { // the test fails
			p.t.Logf("there are %d of them in: %s", len(nodes), p.Text())
		}
	}()
	what := fmt.Sprintf("there is one %s named %q", strings.Join(roles, " or "), name)
	if p.group != "" {
		what += fmt.Sprintf(" in %q", p.group)
	}
	p.Wait(what, func() bool {
		// An error is that of a document that is being replaced.
		var err error
		nodes, err = p.query(name, roles...)
		return err == nil && len(nodes) == 1
	})
	return nodes[0].BackendDOMNodeID
}

// query returns the elements that a person can perceive now.
func (p *Page) query(name string, roles ...string) ([]*accessibility.Node, error) {
	ctx, cancel := p.limited()
	defer cancel()
	root, err := p.root(ctx)
	if err != nil {
		return nil, err
	}
	roots := []cdp.BackendNodeID{root}
	if p.group != "" {
		if roots, err = groups(ctx, roots[0], p.group); err != nil {
			return nil, err
		}
	}
	var found []*accessibility.Node
	for _, root := range roots {
		// Each query is slow. The one by name does not know a file field by its label.
		query := accessibility.QueryAXTreeParams{BackendNodeID: root, AccessibleName: name}
		if len(roles) == 1 {
			query = accessibility.QueryAXTreeParams{BackendNodeID: root, Role: roles[0]}
		}
		nodes, err := perceived(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			if text(node.Name) == name && slices.Contains(roles, text(node.Role)) {
				found = append(found, node)
			}
		}
	}
	return found, nil
}

// root is the document that elements are looked for in.
func (p *Page) root(ctx context.Context) (cdp.BackendNodeID, error) {
	if !p.inner {
		document, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{Depth: new(int64)})
		if err != nil {
			return 0, err
		}
		return document.Root.BackendNodeID, nil
	}
	object, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject](p.document()))
	if err != nil {
		return 0, err
	}
	document, err := chromedp.Call(ctx, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: object.ObjectID})
	if err != nil {
		return 0, err
	}
	return document.Node.BackendNodeID, nil
}

// groups returns the elements of a name that others can be in.
func groups(ctx context.Context, root cdp.BackendNodeID, name string) ([]cdp.BackendNodeID, error) {
	nodes, err := perceived(ctx, accessibility.QueryAXTreeParams{BackendNodeID: root, AccessibleName: name})
	if err != nil {
		return nil, err
	}
	var list []cdp.BackendNodeID
	for _, node := range nodes {
		if role := text(node.Role); role != "StaticText" && role != "InlineTextBox" {
			list = append(list, node.BackendDOMNodeID)
		}
	}
	return list, nil
}

// perceived returns what a query finds, without what is hidden from people.
func perceived(ctx context.Context, query accessibility.QueryAXTreeParams) ([]*accessibility.Node, error) {
	tree, err := chromedp.Call(ctx, accessibility.QueryAXTree, query)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(tree.Nodes, func(n *accessibility.Node) bool { return n.Ignored || n.BackendDOMNodeID == 0 }), nil
}

func text(value *accessibility.Value) string {
	var s string
	if value == nil || json.Unmarshal(value.Value, &s) != nil {
		return ""
	}
	return s
}

// callOn calls a JavaScript function with an element as this, and returns its
// result as JSON.
func (p *Page) callOn(node cdp.BackendNodeID, function string, args ...string) string {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	resolved, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node})
	p.must("resolve a node", err)
	params := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: resolved.Object.ObjectID, ReturnByValue: ptr(true)}
	for _, arg := range args {
		value, err := json.Marshal(arg)
		p.must("encode an argument", err)
		params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: value})
	}
	result, err := chromedp.Call(ctx, runtime.CallFunctionOn, params)
	p.must("call a function", err)
	if result.ExceptionDetails != nil {
		p.t.Fatalf("call a function: %v", result.ExceptionDetails)
	}
	return string(result.Result.Value)
}

func ptr[T any](value T) *T { return &value }
