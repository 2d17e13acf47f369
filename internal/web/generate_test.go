//go:build !race

package web

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// generator makes forms and answers. The same seed makes the same ones.
type generator struct {
	*rand.Rand
	pool []string // the values of rules and answers of one form: few, so that they often agree
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
}

func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// fieldIDs hold what JavaScript treats specially: objects order keys that are
// integers by number, and inherit members.
var fieldIDs = []string{"10", "9", "1", "01", "constructor", "toString", "hasOwnProperty", "valueOf", "a.b", "a-b", "A", "a", "rating", "length"}

// form makes a form as the parser lets it pass: conditions have no cycles, but may
// look up or down the page. In a few, rules name fields or operators that do not exist.
func (g *generator) form() *forms.Form {
	g.fillPool()
	ids := slices.Clone(fieldIDs)
	if g.oneIn(40) { // so many that Go looks them up in a map
		for i := range 8 {
			ids = append(ids, "f"+strconv.Itoa(i))
		}
	} else {
		g.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = ids[:2+g.IntN(5)]
	}
	var units [][]forms.Field // sections, and fields outside of them
	var earlier []string
	for rest := ids; len(rest) > 0; {
		count := 1
		if g.oneIn(4) {
			count += g.IntN(min(3, len(rest)))
		}
		units = append(units, g.unit(rest[:count], earlier))
		earlier = append(earlier, rest[:count]...)
		rest = rest[count:]
	}
	g.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	return &forms.Form{ID: "form", PageID: 1, Fields: slices.Concat(units...)}
}

// unit makes fields that share one condition.
func (g *generator) unit(ids, earlier []string) []forms.Field {
	var condition *forms.Condition
	if len(earlier) > 0 && !g.oneIn(5) {
		condition = g.condition(earlier)
	}
	var fields []forms.Field
	for _, id := range ids {
		fieldType := forms.Checkbox
		if g.oneIn(2) {
			fieldType = pick(g, forms.FieldTypes)
		}
		fields = append(fields, forms.Field{ID: id, Type: fieldType, Label: id, MacroID: "macro-" + id, Condition: condition})
	}
	return fields
}

func (g *generator) condition(earlier []string) *forms.Condition {
	c := &forms.Condition{Match: pick(g, []forms.Match{forms.MatchAll, forms.MatchAny})}
	for range 1 + g.IntN(3) {
		r := forms.Rule{FieldID: pick(g, earlier), Operator: pick(g, forms.Operators)}
		switch g.IntN(100) {
		case 0:
			r.FieldID = "unknown"
		case 1:
			r.Operator = "unknown"
		}
		if r.Operator != forms.Empty && r.Operator != forms.NotEmpty {
			r.Value = pick(g, g.pool)
		}
		c.Rules = append(c.Rules, r)
	}
	return c
}

// answers makes a value for each field, by rank.
func (g *generator) answers(form *forms.Form) []string {
	values := make([]string, len(form.Fields))
	for rank := range values {
		if !g.oneIn(6) {
			values[rank] = pick(g, g.pool)
		}
	}
	return values
}

func (g *generator) fillPool() {
	g.pool = g.pool[:0]
	for range 3 {
		value := g.value()
		g.pool = append(g.pool, value, g.relative(value))
	}
	g.pool = append(g.pool, g.pool[0]+forms.Separator+g.pool[2])
	if g.oneIn(25) {
		g.pool = append(g.pool, g.long(pick(g, g.pool)))
	}
}

// value is one of those that are easily got wrong, or made of such pieces.
func (g *generator) value() string {
	switch g.IntN(5) {
	case 0:
		return g.decimal()
	case 1:
		return g.day()
	case 2:
		return pick(g, awkward)
	case 3:
		return pick(g, spaces) + pick(g, spaces)
	default:
		var b strings.Builder
		for range g.IntN(5) {
			b.WriteString(pick(g, pieces))
		}
		return b.String()
	}
}

// awkward are texts that some language takes for numbers, days or blanks.
var awkward = []string{
	"", "0", "-0", "-0.0", "00", "007", "-007.500", "1e3", "1E3", "1e-3", "0x1F", "0b1", "0o7", "NaN", "nan", "Infinity", "-Infinity", "inf", "+1", "+0",
	"-", "--1", ".", ".5", "5.", "-.5", "-5.", "1.2.3", "1,5", "1_000", "1 ", " 1", "\n1", "1\n", "1n", "１", "٣", "½", "−1", "null", "undefined", "true", "false",
	"9007199254740992", "9007199254740993", "9007199254740993.1", "0.1", "0.10", "0.30000000000000004", "0.3",
	"179769313486231570000000000000000000000000000000000000000", "0.00000000000000000000000000000000000000000000000001",
	"2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2024-1-01", "2024-01-1",
	"2024-00-10", "2024-13-01", "2024-04-31", "2024-01-00", "2024-01-32", "-2024-01-01", "+2024-01-1", "2024-01-01\n", "2024-01-01 ", "2024/01/01", "20240101",
	"2024-01-01T00:00", "２０２４-01-01", "é024-01-01", "2024-01-é", ";", ";;", " ; ", "a;", ";a", "a;b", "a; b", "b;a", "a\x00b", "\x00", "é", "e\u0301", "ß", "İ",
	"\U0001F600", "\U0001F601", "\U00010000", "\U0010FFFF", "\uFFFD", "\uE000", "\uFFFF", "\U0001D7D9", "\u200B", "\uFEFF", "\u180E", "\u0085",
}

// spaces are Unicode's, and what is often taken for one.
var spaces = []string{
	"", " ", "\t", "\n", "\v", "\f", "\r", "\r\n", "\u0085", "\u00A0", "\u1680", "\u2000", "\u2007", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000",
	"\uFEFF", "\u180E", "\u200B", "\u2060", "\u001C", "\u001F", "\x00", ";",
}

var pieces = []string{"a", "b", "A", "1", "0", "-", ".", ";", " ", "\u0085", "\uFEFF", "é", "e\u0301", "\U0001F600", "\U0001F601", "\uE000", `"`, `\`, "</script>"}

func (g *generator) decimal() string {
	sign, whole := pick(g, []string{"", "", "-"}), strconv.Itoa(g.IntN(30))
	if g.oneIn(2) {
		return sign + whole
	}
	return sign + whole + "." + pick(g, []string{"0", "5", "05", "50", "500", "45"})
}

// day is mostly a real one.
func (g *generator) day() string {
	two := func(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
	year := pick(g, []string{"2024", "2023", "1900", "2000", "2200", "0001", "0000"})
	return year + "-" + two(g.IntN(14)) + "-" + two(27+g.IntN(6))
}

// relative is a value that some comparison could take for the given one.
func (g *generator) relative(value string) string {
	switch g.IntN(9) {
	case 0:
		return "-" + value
	case 1:
		return "0" + value
	case 2:
		return value + "0"
	case 3:
		return value + ".0"
	case 4:
		return value + pick(g, spaces)
	case 5:
		return pick(g, spaces) + value
	case 6:
		return strings.ToUpper(value)
	case 7:
		return value + forms.Separator + pick(g, pieces)
	default:
		return g.value()
	}
}

// long repeats or extends a value until it is one of those that Go treats
// separately.
func (g *generator) long(value string) string {
	const enough = 1100 // bytes
	switch g.IntN(4) {
	case 0:
		return strings.Repeat("0", enough) + value
	case 1:
		return strings.Repeat(pick(g, spaces)+" ", enough) + value
	case 2:
		return value + "." + strings.Repeat("0", enough) + pick(g, []string{"", "1"})
	default:
		return strings.Repeat("\U0001F600;", enough/4) + value
	}
}
