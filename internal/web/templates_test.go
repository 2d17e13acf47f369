package web

import (
	"html/template"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"testing"
	"text/template/parse"
)

// pageTypes are the types that templates are executed with.
var pageTypes = map[string]any{
	"author.html":     &authorPage{},
	"change.html":     &changePage{},
	"delete.html":     &deletePage{},
	"error.html":      &errorPage{},
	"form.html":       &formPage{},
	"home.html":       &homePage{},
	"login.html":      &signInPage{},
	"newtab.html":     &newTabPage{},
	"page.html":       &wikiPage{},
	"results.html":    &resultsPage{},
	"sent.html":       &sentPage{},
	"submission.html": &submissionPage{},
	"form":            &formView{},
}

// TestTemplatesMatchTheirPages checks each field that a template names against the
// type of its page, in branches that no other test takes, too.
func TestTemplatesMatchTheirPages(t *testing.T) {
	files := newStaticFiles(nil)
	c := &templateChecker{t: t, set: parseTemplates(files), funcs: templateFuncs(files), checked: map[string]bool{}}
	for name, page := range pageTypes {
		c.check(name, reflect.TypeOf(page))
	}
	for _, defined := range c.set.Templates() {
		name := defined.Name()
		if defined.Tree != nil && !parse.IsEmptyTree(defined.Tree.Root) && !c.checked[name] {
			t.Errorf("no page uses template %s", name)
		}
	}
}

func TestTemplateLinesAreShort(t *testing.T) {
	const limit = 140
	err := fs.WalkDir(templateFiles, "templates", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templateFiles.ReadFile(name)
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > limit {
				t.Errorf("%s:%d has %d characters, more than %d", path.Base(name), i+1, len(line), limit)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// templateChecker finds the type of each expression in a set of templates.
type templateChecker struct {
	t       *testing.T
	set     *template.Template
	funcs   template.FuncMap
	checked map[string]bool // by name, and by name and type
}

// scope is what a part of a template can name.
type scope struct {
	template string
	dot      reflect.Type
	vars     map[string]reflect.Type
}

func (c *templateChecker) check(name string, dot reflect.Type) {
	key := name
	if dot != nil {
		key += " " + dot.String()
	}
	if c.checked[key] {
		return
	}
	c.checked[name], c.checked[key] = true, true
	found := c.set.Lookup(name)
	if found == nil {
		c.t.Errorf("there is no template %s", name)
		return
	}
	c.walk(found.Tree.Root, scope{name, dot, map[string]reflect.Type{"$": dot}})
}

func (c *templateChecker) walk(node parse.Node, s scope) {
	inner := s
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			c.walk(child, s)
		}
	case *parse.ActionNode:
		c.pipe(n.Pipe, s)
	case *parse.IfNode:
		c.pipe(n.Pipe, s)
		c.walk(n.List, s)
		c.walk(n.ElseList, s)
	case *parse.WithNode:
		inner.dot = c.pipe(n.Pipe, s)
		c.walk(n.List, inner)
		c.walk(n.ElseList, s)
	case *parse.RangeNode:
		inner.dot = c.element(c.pipe(n.Pipe, s), s)
		c.walk(n.List, inner)
		c.walk(n.ElseList, s)
	case *parse.TemplateNode:
		var dot reflect.Type
		if n.Pipe != nil {
			dot = c.pipe(n.Pipe, s)
		}
		c.check(n.Name, dot)
	}
}

// pipe returns the type of a pipeline. Pipelines with "|" are not used.
func (c *templateChecker) pipe(p *parse.PipeNode, s scope) reflect.Type {
	if len(p.Cmds) != 1 {
		c.t.Errorf("%s: %s has several commands, which this test does not know", s.template, p)
		return nil
	}
	args := p.Cmds[0].Args
	types := make([]reflect.Type, len(args))
	for i, arg := range args {
		types[i] = c.value(arg, s)
	}
	result := types[0]
	if f, ok := args[0].(*parse.IdentifierNode); ok {
		result = c.call(f.Ident, types[1:])
	}
	for _, v := range p.Decl {
		s.vars[v.Ident[0]] = result
	}
	return result
}

// call returns the result of a function.
func (c *templateChecker) call(name string, args []reflect.Type) reflect.Type {
	if f, ok := c.funcs[name]; ok {
		return reflect.TypeOf(f).Out(0)
	}
	switch name {
	case "and", "or":
		return args[0]
	case "len":
		return reflect.TypeFor[int]()
	default:
		return reflect.TypeFor[bool]()
	}
}

func (c *templateChecker) value(node parse.Node, s scope) reflect.Type {
	switch n := node.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return c.fields(s.dot, n.Ident, s)
	case *parse.VariableNode:
		return c.fields(s.vars[n.Ident[0]], n.Ident[1:], s)
	case *parse.PipeNode:
		return c.pipe(n, s)
	case *parse.StringNode:
		return reflect.TypeFor[string]()
	default:
		return nil
	}
}

// fields follows names of fields and methods.
func (c *templateChecker) fields(from reflect.Type, names []string, s scope) reflect.Type {
	for _, name := range names {
		next := member(from, name)
		if next == nil {
			c.t.Errorf("%s: %v has no field or method %s", s.template, from, name)
			return nil
		}
		from = next
	}
	return from
}

func member(of reflect.Type, name string) reflect.Type {
	if of == nil {
		return nil
	}
	pointer := of
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	} else {
		pointer = reflect.PointerTo(of)
	}
	if method, ok := pointer.MethodByName(name); ok {
		return method.Type.Out(0)
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	field, ok := of.FieldByName(name)
	if !ok || !field.IsExported() {
		return nil
	}
	return field.Type
}

// element is what "range" yields.
func (c *templateChecker) element(list reflect.Type, s scope) reflect.Type {
	switch {
	case list == nil:
		return nil
	case list.Kind() == reflect.Slice:
		return list.Elem()
	case list.CanSeq():
		return list.In(0).In(0) // of its function yield
	}
	c.t.Errorf("%s: %v is no list", s.template, list)
	return nil
}
