package lang

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"

	"golang.org/x/text/feature/plural"
)

// Funcs are the functions of templates that are messages. Translate replaces their calls:
//
//	{{t "Sent by {0} on {1}" .Name (include "time" .At)}}
//	{{tn "{0} submission" "{0} submissions" .Count}}
//
// becomes Gesendet von {{.Name}} am {{template "time" .At}}, and two branches. The first argument of tn is
// the number that decides. Messages may have tags of HTML.
func (l *Language) Funcs() map[string]any {
	misplaced := func(...any) (string, error) { return "", fmt.Errorf("t, tn and include stand in no other expression") }
	return map[string]any{
		"t": misplaced, "tn": misplaced, "include": misplaced,
		"count":      l.Count,
		"pluralForm": func(n any) int { return int(l.plural(n)) },
	}
}

// Translate puts the texts of the language into a template, before that is escaped: what is written costs nothing
// when a page is made, and arguments are escaped as they need to be at their place.
func (l *Language) Translate(tree *parse.Tree) { l.list(tree.Root) }

func (l *Language) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	var nodes []parse.Node
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			nodes = append(nodes, l.action(node)...)
			continue
		case *parse.IfNode:
			l.branches(&node.BranchNode)
		case *parse.RangeNode:
			l.branches(&node.BranchNode)
		case *parse.WithNode:
			l.branches(&node.BranchNode)
		}
		nodes = append(nodes, node)
	}
	list.Nodes = nodes
}

func (l *Language) branches(b *parse.BranchNode) {
	l.list(b.List)
	l.list(b.ElseList)
}

// action returns the nodes in place of a call of t or tn, and any other node as it is.
func (l *Language) action(node *parse.ActionNode) []parse.Node {
	args := node.Pipe.Cmds[0].Args
	call, _ := args[0].(*parse.IdentifierNode)
	switch {
	case call == nil || len(node.Pipe.Decl) > 0 || len(node.Pipe.Cmds) > 1:
	case call.Ident == "t":
		return l.fill(node, l.find("", message(args[1]))[plural.Other], args[2:])
	case call.Ident == "tn":
		number := args[3]
		args[3] = &parse.PipeNode{
			NodeType: parse.NodePipe, Pos: node.Pos, Line: node.Line,
			Cmds: []*parse.CommandNode{command(node, parse.NewIdentifier("count"), number)},
		}
		found := l.find(message(args[1]), message(args[2]))
		rest := &parse.ListNode{NodeType: parse.NodeList, Pos: node.Pos, Nodes: l.fill(node, found[plural.Other], args[3:])}
		for form, text := range found {
			if text != "" && plural.Form(form) != plural.Other {
				rest = l.branch(node, form, number, l.fill(node, text, args[3:]), rest)
			}
		}
		return rest.Nodes
	}
	return []parse.Node{node}
}

// branch is {{if eq (pluralForm NUMBER) FORM}}…{{else}}…{{end}}.
func (l *Language) branch(
	at *parse.ActionNode, form int, number parse.Node, then []parse.Node, otherwise *parse.ListNode,
) *parse.ListNode {
	numberForm := pipe(at, command(at, parse.NewIdentifier("pluralForm"), number.Copy()))
	wanted := &parse.NumberNode{
		NodeType: parse.NodeNumber, Pos: at.Pos, IsInt: true, Int64: int64(form), Text: strconv.Itoa(form),
	}
	node := &parse.IfNode{BranchNode: parse.BranchNode{
		NodeType: parse.NodeIf, Pos: at.Pos, Line: at.Line,
		Pipe:     pipe(at, command(at, parse.NewIdentifier("eq"), numberForm, wanted)),
		List:     &parse.ListNode{NodeType: parse.NodeList, Pos: at.Pos, Nodes: then},
		ElseList: otherwise,
	}}
	return &parse.ListNode{NodeType: parse.NodeList, Pos: at.Pos, Nodes: []parse.Node{node}}
}

// message is the text of a message. In a template it may have several lines.
func message(node parse.Node) string {
	return strings.ReplaceAll(node.(*parse.StringNode).Text, "\n", " ")
}

var placeholder = regexp.MustCompile(`\{\d\}`)

// fill makes the nodes of a text with its arguments.
func (l *Language) fill(at *parse.ActionNode, text string, args []parse.Node) (nodes []parse.Node) {
	add := func(part string) {
		if part != "" {
			nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: at.Pos, Text: []byte(part)})
		}
	}
	end := 0
	for _, found := range placeholder.FindAllStringIndex(text, -1) {
		add(text[end:found[0]])
		nodes = append(nodes, argument(at, args[text[found[0]+1]-'0'].Copy()))
		end = found[1]
	}
	add(text[end:])
	return nodes
}

// argument is {{ARG}}, or {{template NAME DATA}} for (include NAME DATA).
func argument(at *parse.ActionNode, arg parse.Node) parse.Node {
	p, ok := arg.(*parse.PipeNode)
	if !ok {
		p = pipe(at, command(at, arg))
	}
	call := p.Cmds[0].Args
	if name, ok := call[0].(*parse.IdentifierNode); ok && name.Ident == "include" {
		return &parse.TemplateNode{
			NodeType: parse.NodeTemplate, Pos: at.Pos, Line: at.Line,
			Name: call[1].(*parse.StringNode).Text, Pipe: pipe(at, command(at, call[2])),
		}
	}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: at.Pos, Line: at.Line, Pipe: p}
}

func pipe(at *parse.ActionNode, c *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: at.Pos, Line: at.Line, Cmds: []*parse.CommandNode{c}}
}

func command(at *parse.ActionNode, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at.Pos, Args: args}
}
