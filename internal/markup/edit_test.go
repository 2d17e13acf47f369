package markup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func texts(words ...string) Tree {
	list := Tree{Kind: List}
	for _, w := range words {
		list.Items = append(list.Items, Tree{Text: w})
	}
	return list
}

func mapping(pairs ...string) Tree {
	m := Tree{Kind: Mapping}
	for i := 0; i < len(pairs); i += 2 {
		m.Keys, m.Items = append(m.Keys, pairs[i]), append(m.Items, Tree{Text: pairs[i+1]})
	}
	return m
}

// pathOf reads a path such as fields/0/label.
func pathOf(s string) (path Path) {
	for step := range strings.SplitSeq(s, "/") {
		if n := strings.IndexByte("0123456789", step[0]); n >= 0 && len(step) == 1 {
			path = append(path, n)
		} else {
			path = append(path, step)
		}
	}
	return path
}

func set(path string, value Tree) Change {
	return Change{Do: Set, Path: pathOf(path), Value: value}
}

func insert(path string, value Tree) Change {
	return Change{Do: Insert, Path: pathOf(path), Value: value}
}
func cut(path string) Change { return Change{Do: Delete, Path: pathOf(path)} }
func move(path, to string) Change {
	return Change{Do: Move, Path: pathOf(path), To: pathOf(to)}
}

// TestEdit shows what changes, and what stays as it is.
func TestEdit(t *testing.T) {
	text := func(s string) Tree { return Tree{Text: s} }
	field := mapping("id", "b", "type", "date", "label", "Day")
	for _, test := range []struct {
		name, before string
		change       Change
		want         string
	}{
		{"set", "a:  b   # why\n\nc: d\n", set("a", text("New text")), "a:  New text   # why\n\nc: d\n"},
		{"set quotes what needs quotes", "a: b # why\n", set("a", text("d: e")), "a: \"d: e\" # why\n"},
		{"set quotes in brackets", "a: [b, c]\n", set("a/1", text("d, e")), "a: [b, \"d, e\"]\n"},
		{"set keeps quotes", "a: 'b'\nc: \"d\"\n", set("a", text("it's")), "a: 'it''s'\nc: \"d\"\n"},
		{"set chooses quotes", "a: b\n", set("a", text(`"x": \`)), "a: '\"x\": \\'\n"},
		{"set the empty text", "a: b\n", set("a", text("")), "a: \"\"\n"},
		{"set nothing that is new", "a: 'b'  \n", set("a", text("b")), "a: 'b'  \n"},
		{"set no-break spaces", "a:\u00a0b\n", set("a", text("c\u00a0d")), "a:\u00a0\"c\\u00a0d\"\n"},
		{"set lines", "a: b # why\nd: e\n", set("a", text("x\n\ny")), "a: |- # why\n  x\n\n  y\nd: e\n"},
		{"set lines that end", "a:\n  - b: c\n", set("a/0/b", text("x\ny\n")), "a:\n  - b: |\n      x\n      y\n"},
		{"set lines in brackets", "a: {b: c}\n", set("a/b", text("x\ny")), "a: {b: \"x\\ny\"}\n"},
		{"set lines to a text", "a: |\n  x\n  y\n# c\nd: e\n", set("a", text("z")), "a: z\n# c\nd: e\n"},
		{"set lines to a list", "a: >\n  x\n\n  y\nd: e\n", set("a", texts("1", "2")), "a: [1, 2]\nd: e\n"},
		{"set a value below its key", "a: # why\n  b\nc: d\n", set("a", text("e")), "a: e # why\nc: d\n"},
		{"set what had no value", "a:\nb:\n", set("a", text("c")), "a: c\nb:\n"},
		{"set a new key", "f:\n  - a: b # why\n\n# end\n", set("f/0/d", text("e")), "f:\n  - a: b # why\n    d: e\n\n# end\n"},
		{"set a new key in brackets", "f:\n  - {a: b}\n", set("f/0/d", text("e")), "f:\n  - {a: b, d: e}\n"},
		{"set a new key on the way", "f: g\n", set("a/b", text("c")), "f: g\na: {b: c}\n"},
		{
			"set a list of lists as lines", "f: g\n", set("a", Tree{Kind: List, Items: []Tree{field, mapping("k", "v")}}),
			"f: g\na:\n  - id: b\n    type: date\n    label: Day\n  - {k: v}\n",
		},
		{"set at the end of an open text", "f: g", set("a", text("b")), "f: g\na: b"},
		{
			"label", "o:\n  - Holiday # paid\n", set("o/0", mapping("value", "Holiday", "label", "Vacation")),
			"o:\n  - {value: Holiday, label: Vacation} # paid\n",
		},
		{
			"label as lines", "o:\n  - value: a\n    label: A\n  - b # paid\n", set("o/1", mapping("value", "b", "label", "B")),
			"o:\n  - value: a\n    label: A\n  - value: b # paid\n    label: B\n",
		},
		{"no label", "o:\n  - {value: Holiday, label: Vacation} # paid\n", set("o/0", text("Holiday")), "o:\n  - Holiday # paid\n"},
		{"insert", "o:\n  - a # 1\n  - b\n", insert("o/1", text("x")), "o:\n  - a # 1\n  - x\n  - b\n"},
		{"insert in brackets", "o: [a, b]\n", insert("o/2", text("x")), "o: [a, b, x]\n"},
		{"insert in brackets over lines", "o: [\n  a, # 1\n  b,\n  c\n]\n", insert("o/3", text("x")), "o: [\n  a, # 1\n  b,\n  c,\n  x\n]\n"},
		{"insert into an empty list", "o: [] # none\n", insert("o/0", text("x")), "o: [x] # none\n"},
		{"insert into a missing list", "o: [a]\n", insert("p/0", text("x")), "o: [a]\np: [x]\n"},
		{"insert into a missing list, as the neighbour", "o:\n  - a\n", insert("p/0", text("x")), "o:\n  - a\np:\n  - x\n"},
		{
			"insert a question", "f:\n  - id: a\n    type: date\n\n  - id: c\n", insert("f/1", field),
			"f:\n  - id: a\n    type: date\n\n  - id: b\n    type: date\n    label: Day\n\n  - id: c\n",
		},
		{
			"insert a question in brackets", "f:\n  - {id: a, type: date}\n", insert("f/1", field),
			"f:\n  - {id: a, type: date}\n  - {id: b, type: date, label: Day}\n",
		},
		{"insert with CRLF", "o:\r\n  - a\r\n  - b\r\n", insert("o/1", text("x\ny")), "o:\r\n  - a\r\n  - |-\r\n    x\r\n    y\r\n  - b\r\n"},
		{"delete with the comments above", "o:\n  - a\n\n  # far\n\n  # near\n  - b # 1\n\n  - c\n", cut("o/1"), "o:\n  - a\n\n  # far\n\n\n  - c\n"},
		{"delete the first", "f:\n  # A\n  - a\n\n  - b\n", cut("f/0"), "f:\n  - b\n"},
		{"delete the last", "f:\n  - a\n\n  - b\ng: h\n", cut("f/1"), "f:\n  - a\ng: h\n"},
		{"delete the only one", "o: # none\n  - a\np: 1\n", cut("o/0"), "o: [] # none\np: 1\n"},
		{"delete the only key", "o:\n  p: {a: b}\n", cut("o/p/a"), "o:\n  p: {}\n"},
		{"delete in brackets", "o: [a, b, c]\n", cut("o/0"), "o: [b, c]\n"},
		{"delete a key, not the comment above", "a: b\n# c\nd: e\nf: g\n", cut("d"), "a: b\n# c\nf: g\n"},
		{"delete a key beside a dash", "f:\n  - a: b\n    c: d\n", cut("f/0/a"), "f:\n  - c: d\n"},
		{"move", "o:\n  # A\n  - a # a\n\n  - b\np: 1\n", move("o/0", "o/1"), "o:\n  - b\n\n  # A\n  - a # a\np: 1\n"},
		{"move in brackets", "o: [a,  b, c]\n", move("o/2", "o/0"), "o: [c,  a, b]\n"},
		{
			"move into a section", "o:\n  - a: 'x'\n    # why\n    l: |\n      x\n  - f:\n      - b: 1\n", move("o/0", "o/0/f/1"),
			"o:\n  - f:\n      - b: 1\n      - a: 'x'\n        # why\n        l: |\n          x\n",
		},
		{"move out of a section", "o:\n  - f:\n      - b: 1\n        c: 2\n", move("o/0/f/0", "o/0"), "o:\n  - b: 1\n    c: 2\n  - f: []\n"},
		{"move into brackets", "o:\n  - a: x\n  - {f: [{b: 1}]}\n", move("o/0", "o/0/f/0"), "o:\n  - {f: [{a: x}, {b: 1}]}\n"},
		{"copied: an alias", "o: &x\n  - a\np: *x # same\nq: *x\n", insert("p/1", text("x")), "o: &x\n  - a\np: # same\n  - a\n  - x\nq: *x\n"},
		{"copied: the original", "o: &x # all\n  - a\np: *x\nq: *x\n", insert("o/1", text("x")), "o: # all\n  - a\n  - x\np: &x\n  - a\nq: *x\n"},
		{"copied: in brackets", "o: &x [a]\np: {q: *x}\n", cut("o"), "p: {q: [a]}\n"},
		{"copied: moved before the original", "f:\n  - o: &x [a]\n  - p: *x\n", move("f/1", "f/0"), "f:\n  - p: [a]\n  - o: &x [a]\n"},
		{"a shared list that is not in the way", "o: &x [a]\np: *x\n", set("q", text("b")), "o: &x [a]\np: *x\nq: b\n"},
	} {
		got, copied, err := Edit(test.before, test.change)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		testkit.Diff(t, test.name, got, test.want)
		testkit.Same(t, test.name+": copied", copied, strings.HasPrefix(test.name, "copied"))
	}
}

func TestEditRefused(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for name := 'b'; name < 'f'; name++ {
		bomb += strings.ReplaceAll(string(name)+": &"+string(name)+" [*, *, *, *, *, *, *, *, *]\n", "*", "*"+string(name-1))
	}
	for name, test := range map[string]struct {
		text   string
		change Change
	}{
		"no YAML":            {"a: [", set("a", Tree{Text: "b"})},
		"two documents":      {"a: b\n---\na: b\n", set("a", Tree{Text: "c"})},
		"a directive":        {"%YAML 1.1\n---\na: b\n", set("a", Tree{Text: "c"})},
		"a key that is none": {"a: b\n[c]: d\n", set("a", Tree{Text: "c"})},
		"a key twice":        {"a: {b: c}\na: {b: d}\n", set("a/b", Tree{Text: "e"})},
		"invalid UTF-8":      {"a: \xff\n", set("a", Tree{Text: "b"})},
		"an invalid value":   {"a: b\n", set("a", Tree{Text: "\xff"})},
		"a long text":        {"a: b\n", set("a", Tree{Text: strings.Repeat("x", MaxBlockBytes)})},
		"no such item":       {"a: [b]\n", cut("a/1")},
		"a text as a list":   {"a: b\n", insert("a/0", Tree{Text: "c"})},
		"a list as a text":   {"a: [b]\n", set("a/b", Tree{Text: "c"})},
		"into itself":        {"a:\n  - b: []\n", move("a/0", "a/0/b/0")},
		"a lost comment":     {"a:\n  - b: c # why\n  - {f: [{g: h}]}\n", move("a/0", "a/0/f/0")},
		"a large copy":       {bomb, set("e/0/0", Tree{Text: "x"})},
		"no path":            {"a: b\n", Change{}},
	} {
		got, _, err := Edit(test.text, test.change)
		testkit.ErrorIs(t, name, err, ErrNotEditable)
		testkit.Same(t, name, got, test.text)
	}
}

// TestEditSeveral makes all changes or none, and each after the one before.
func TestEditSeveral(t *testing.T) {
	got, copied, err := Edit("a: &x [b]\nc: *x\n", insert("c/1", Tree{Text: "d"}), move("c/1", "c/0"))
	testkit.Must(t, err)
	testkit.Same(t, "text", got, "a: &x [b]\nc: [d, b]\n")
	testkit.Same(t, "copied", copied, true)
	got, copied, err = Edit("a: &x [b]\nc: *x\n", insert("c/1", Tree{Text: "d"}), cut("e"))
	testkit.ErrorIs(t, "second", err, ErrNotEditable)
	testkit.Same(t, "text", got, "a: &x [b]\nc: *x\n")
	testkit.Same(t, "copied", copied, false)
}

func TestPathAt(t *testing.T) {
	text := "form: a # why\r\n\r\nfields:\r\n  # above\r\n  - id: ä\r\n    options: [é, f]\r\n\r\nend: b"
	document, err := ReadDocument(text)
	testkit.Must(t, err)
	for _, test := range []struct {
		line, column int
		want         string
	}{
		{1, 1, "form"},
		{1, 9, "form"},
		{2, 1, "[]"},
		{3, 3, "fields"},
		{4, 4, "fields"},
		{5, 3, "fields/0"},
		{5, 9, "fields/0/id"},
		{6, 14, "fields/0/options"},
		{6, 15, "fields/0/options/0"},
		{6, 18, "fields/0/options/1"},
		{6, 99, "fields/0/options/1"},
		{8, 6, "end"},
		{9, 1, "end"},
		{0, 0, "form"},
	} {
		want := Path(nil)
		if test.want != "[]" {
			want = pathOf(test.want)
		}
		testkit.Diff(t, fmt.Sprint(test.line, ":", test.column), document.PathAt(test.line, test.column), want)
	}
	broken, _ := ReadDocument("a: [")
	testkit.Diff(t, "no YAML", broken.PathAt(1, 1), Path(nil))
}

func TestTreeGet(t *testing.T) {
	tree, err := ReadTree("a: &x [b, {c: d}]\ne: *x\n")
	testkit.Must(t, err)
	for path, want := range map[string]string{"e/1/c": "d", "a/0": "b", "a/2": "", "a/c": "", "e/0/0": ""} {
		got, ok := tree.Get(pathOf(path))
		testkit.Same(t, path, got.Text, want)
		testkit.Same(t, path, ok, want != "")
	}
}
