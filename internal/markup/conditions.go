package markup

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const (
	oneRule       = "{field: …, equals: …}"
	ruleHint      = "write " + oneRule
	conditionHint = ruleHint + ", or all: or any: with a list of such rules"
)

var ruleKeys = append([]string{"field"}, forms.Names(forms.Operators)...)

// conditionReader is a condition while it is read. It applies to the fields of the ranks
// from first up to, but not including, end.
type conditionReader struct {
	forms.Condition
	owner      string // the field or section that has it, for messages
	key        string // under which it is written
	node       *yaml.Node
	first, end int
	needs      []need
}

// need is a field that a rule looks at.
type need struct{ at, rank int }

// condition reads the rules of a condition.
func (r *formReader) condition(c *conditionReader) {
	c.Match = forms.MatchAll
	all, anyOf := valueOf(c.node, "all"), valueOf(c.node, "any")
	list := cmp.Or(all, anyOf)
	if list == nil {
		r.rule(c.node, c, c.key, conditionHint)
		return
	}
	r.checkKeys(c.node, c.key, conditionHint, []string{"all", "any"}, nil)
	if all == nil {
		c.Match = forms.MatchAny
	} else if anyOf != nil {
		r.errorf(c.node.Column, "", `"all" and "any" exclude each other`)
		return
	}
	for _, n := range r.items(list, string(c.Match), "write a list of rules: - "+oneRule) {
		switch {
		case r.rules == MaxRules:
			r.errorf(c.node.Column, "", "the form has more than %d rules", MaxRules)
			return
		case valueOf(n, "all") != nil, valueOf(n, "any") != nil:
			r.errorf(n.Column, "", `"all" and "any" don't nest`)
		default:
			r.rule(n, c, "a rule", ruleHint)
		}
	}
}

// comparison matches a rule as people may write it, after its noun.
var comparison = regexp.MustCompile(`^(?:a rule: |(\w+: ))([\p{L}\p{N}_. -]+?) *(?:==?| is ) *([\p{L}\p{N}_. -]+)$`)

// rule reads one comparison: a field, and exactly one operator.
func (r *formReader) rule(m *yaml.Node, c *conditionReader, noun, hint string) {
	r.rules++
	if text := noun + ": " + m.Value; comparison.MatchString(text) {
		hint = comparison.ReplaceAllString(text, "write $1{field: $2, equals: $3}")
	}
	if !r.checkKeys(m, noun, hint, ruleKeys, nil) {
		return
	}
	field, operator := r.requiredText(m, "field", hint, `the rule names no "field"`), r.operator(m)
	if field == nil || operator == "" {
		return
	}
	rule := forms.Rule{FieldID: field.Value, Operator: operator}
	r.operand(m, &rule)
	c.Rules = append(c.Rules, rule)
	rank, known := r.rankOf(field, c.owner, "")
	switch {
	case !known:
		return
	case rank >= c.end:
		r.warnf(field.Column, "put that field first",
			"%s depends on field %s, which comes later on the page", c.owner, quote(field.Value))
	case rank >= c.first:
		r.errorf(field.Column, "", "%s depends on itself", c.owner)
		return
	}
	c.needs = append(c.needs, need{field.Column, rank})
	r.countScan(m.Column, rule, rank)
	r.warnOfNoOption(valueOf(m, string(operator)), c, rule, rank)
}

// operator returns the rule's operator, or "".
func (r *formReader) operator(m *yaml.Node) (operator forms.Operator) {
	for _, o := range forms.Operators {
		switch n := valueOf(m, string(o)); {
		case n == nil:
		case operator != "":
			r.errorf(n.Column, "put the second one into a rule of its own",
				"a rule has one operator, but this one has %s and %s", operator, o)
		default:
			operator = o
		}
	}
	if operator == "" {
		r.errorf(m.Column, oneOf(forms.Operators), "the rule has no operator")
	}
	return operator
}

// countScan bounds the work that one submission causes: each of these rules reads
// the answer, which may be as long as a request body.
func (r *formReader) countScan(at int, rule forms.Rule, rank int) {
	if !rule.Scans(r.form.Fields[rank]) {
		return
	}
	if r.scans[rank]++; r.scans[rank] == MaxScans+1 {
		r.errorf(at, "put fields that show together into a section with one showIf",
			"the form has more than %d rules about field %s that read the whole answer: "+
				"those about a checkbox, and those with other operators than equals, not-equals and one-of",
			MaxScans, quote(rule.FieldID))
	}
}

// rankOf returns the rank of the field that n names for an owner. One that does not exist is reported once, with
// those that name it and the field that was probably meant, or else with the hint. In large forms that field is
// not searched for: it would take too long.
func (r *formReader) rankOf(n *yaml.Node, owner, hint string) (rank int, known bool) {
	if rank, known = r.ranks[n.Value]; known {
		return rank, true
	}
	if i, again := r.unknown[n.Value]; again && i < len(r.diagnostics) {
		const longest = 500
		message := &r.diagnostics[i].Message
		if len(*message) < longest && !strings.Contains(*message, owner) {
			*message += fmt.Sprintf(", %s on line %d", owner, r.line(n.Column))
		}
		return 0, false
	}
	const few = 100
	var ids []string
	if len(r.form.Fields) <= few && !r.full() {
		for _, field := range r.form.Fields {
			ids = append(ids, field.ID)
		}
	}
	r.unknown[n.Value] = len(r.diagnostics)
	hint = cmp.Or(didYouMean(nearest(n.Value, ids)), hint)
	r.errorf(n.Column, hint, "unknown field %s, named by %s", quote(n.Value), owner)
	return 0, false
}

// operand reads the value of a rule.
func (r *formReader) operand(m *yaml.Node, rule *forms.Rule) {
	operator := rule.Operator
	key := string(operator)
	n := valueOf(m, key)
	switch takesList := operator == forms.Equals || operator == forms.InList; {
	case takesList && n.Kind == yaml.SequenceNode:
		rule.Operator, rule.Value = forms.InList, r.joinValues(n, key, "rule")
		return
	case operator == forms.Empty || operator == forms.NotEmpty:
		rule.Operator = forms.NotEmpty
		if r.boolean(m, key) == (operator == forms.Empty) { // not-empty: false is empty: true
			rule.Operator = forms.Empty
		}
		return
	}
	if !r.isText(n, key) {
		return
	}
	rule.Value = n.Value
	reason := checkText(n.Value)
	switch {
	case isNull(n):
		r.errorf(n.Column, "write empty: true if the field must be empty", "%s has no value", operator)
	case reason != "":
		r.errorf(n.Column, "", "value %s %s", quote(n.Value), reason)
	case operator == forms.InList:
		r.checkListValue(n, "value")
	case operator == forms.Contains && n.Value == "":
		r.errorf(n.Column, "write not-empty: true if any value will do",
			"contains needs a text: everything contains an empty one")
	case (operator == forms.GreaterThan || operator == forms.LessThan) && !forms.Ordered(n.Value):
		r.errorf(n.Column, "use a number such as 12 or -3.5, or a day such as 2026-01-31",
			"%s needs a number or a day, not %s", operator, quote(n.Value))
	}
}

// joinValues reads a list of texts as it is stored. Messages name what has it.
func (r *formReader) joinValues(n *yaml.Node, key, owner string) string {
	list := r.list(n, key)
	if len(list) > MaxOptions {
		r.errorf(n.Column, "", "the %s has more than %d values", owner, MaxOptions)
		return ""
	}
	var texts []string
	for _, item := range list {
		r.checkListValue(item, "value")
		texts = append(texts, item.Value)
	}
	return strings.Join(texts, forms.Separator)
}

// findCycles reports conditions that depend on each other. It walks depth first
// over conditions, since the fields of a section share one.
func (r *formReader) findCycles() {
	readers := map[*forms.Condition]*conditionReader{}
	for _, c := range r.conditions {
		readers[&c.Condition] = c
	}
	onPath, visited := map[*conditionReader]bool{}, map[*conditionReader]bool{}
	var visit func(c *conditionReader)
	visit = func(c *conditionReader) {
		visited[c], onPath[c] = true, true
		for _, n := range c.needs {
			field := r.form.Fields[n.rank]
			switch next := readers[field.Condition]; {
			case next == nil:
			case onPath[next]:
				r.errorf(n.at, "",
					"conditions form a cycle: %s needs field %s, which depends on it", c.owner, quote(field.ID))
			case !visited[next]:
				visit(next)
			}
		}
		onPath[c] = false
	}
	for _, c := range r.conditions {
		if !visited[c] {
			visit(c)
		}
	}
}

// warnOfNoOption warns of a rule that compares a field with a value that is not
// one of its options.
func (r *formReader) warnOfNoOption(n *yaml.Node, c *conditionReader, rule forms.Rule, rank int) {
	f := r.form.Fields[rank]
	isCompared := rule.Operator == forms.InList || rule.Operator == forms.Equals && rule.Value != "" ||
		rule.Operator == forms.Contains && f.MultiValue()
	if len(f.Options) == 0 || !isCompared {
		return
	}
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	const listed = 10
	for _, n := range nodes {
		for v := range strings.SplitSeq(n.Value, forms.Separator) {
			if now, renamed := f.ValueWas[v]; renamed {
				r.warnf(n.Column, "write "+now, "%s depends on the value %s, which is now %s", c.owner, quote(v), quote(now))
				return
			}
			if !r.options[rank][v] {
				r.warnf(n.Column, cmp.Or(caseHint(f, v), oneOf(f.Options[:min(len(f.Options), listed)])),
					"%s depends on the value %s, which is not an option of field %s", c.owner, quote(v), quote(f.ID))
				return
			}
		}
	}
}

// caseHint is the hint for a value that is an option in other letters, or "".
func caseHint(f *forms.Field, value string) string {
	i := slices.IndexFunc(f.Options, func(option string) bool { return strings.EqualFold(option, value) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("write %q: upper and lower case make a difference", f.Options[i])
}
