package markup

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formulary/formulary/internal/testkit"
)

// formTexts returns the texts of the forms in documents, examples, and cases of tests.
func formTexts(t testing.TB) (texts []string) {
	add := func(name string, src []byte) {
		blocks := []Block{{Text: string(src)}}
		if format, isPage := FormatOf(name); isPage {
			blocks = Parse(format, 1, src, nil).Blocks
		}
		for _, b := range blocks {
			if tree, err := ReadTree(b.Text); err == nil && len(tree.Items) > 0 {
				texts = append(texts, b.Text)
			}
		}
	}
	for _, pattern := range []string{
		"testdata/*.txtar", "../../docs/*.md", "../../examples/pages/*", "../web/examples/*.yaml", "../../e2e/browser/testdata/*/*.md",
	} {
		names, err := filepath.Glob(pattern)
		testkit.Must(t, err)
		if len(names) == 0 {
			t.Errorf("no file is %s", pattern)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			testkit.Must(t, err)
			if filepath.Ext(name) != ".txtar" {
				add(name, src)
				continue
			}
			for _, file := range txtar.Parse(src).Files {
				if _, isPage := FormatOf(file.Name); isPage {
					add(file.Name, []byte(visible.Replace(string(file.Data))))
				}
			}
		}
	}
	return texts
}

// mutate spells a text in another way: with comments, blank lines, quotes, brackets over lines.
func mutate(random *rand.Rand, text string) string {
	before, _ := ReadTree(text)
	for range 1 + random.IntN(8) {
		lines := strings.SplitAfter(text, "\n")
		i := random.IntN(len(lines))
		line := strings.TrimRight(lines[i], "\n")
		key, value, _ := strings.Cut(line, ": ")
		lines[i] = []string{
			"\n" + lines[i],
			line + " # here\n",
			strings.Repeat(" ", random.IntN(10)) + "# above: [it\n" + lines[i],
			key + ":   \"" + value + "\"\n",
			key + ":\u00a0 " + value + "  \n",
			strings.NewReplacer("[", "[ \n  ", ", ", " ,\n   ", "{", "{\n  ").Replace(line) + "\n",
		}[random.IntN(6)]
		changed := strings.Join(lines, "")
		if after, err := ReadTree(changed); err == nil && after.Equal(before) {
			text = changed
		}
	}
	return text
}

// visit calls a function with each value and its path.
func visit(t Tree, path Path, each func(Path, Tree)) {
	each(path, t)
	for i, item := range t.Items {
		if t.Kind == Mapping {
			visit(item, append(slices.Clone(path), t.Keys[i]), each)
		} else {
			visit(item, append(slices.Clone(path), i), each)
		}
	}
}

// editor edits one text after the other.
type editor struct {
	*testing.T
	random         *rand.Rand
	text           string
	tree           Tree
	tried, refused int
	questions      []Path // lists of mappings
	isShared       bool
}

func (e *editor) read(text string) {
	e.text, e.isShared, e.questions = text, strings.Contains(text, "&"), nil
	e.tree, _ = ReadTree(text)
	visit(e.tree, nil, func(path Path, v Tree) {
		if v.Kind == List && len(v.Items) > 0 && v.Items[0].Kind == Mapping {
			e.questions = append(e.questions, path)
		}
	})
}

// edit makes changes one by one. It reports what the last one replaced, and by what.
func (e *editor) edit(changes ...Change) (text, was, is string, ok bool) {
	text = e.text
	for _, c := range changes {
		before, _ := ReadTree(text)
		want, ok := before.Apply(c)
		if !ok {
			e.Fatalf("no place for %v in\n%s", c, text)
		}
		e.tried++
		next, _, err := Edit(text, c)
		if err != nil {
			e.refused++
			if !errors.Is(err, ErrNotEditable) || next != text {
				e.Errorf("%v: %v:\n%s", c, err, next)
			}
			return "", "", "", false
		}
		if after, _ := ReadTree(next); !after.Equal(want) {
			e.Errorf("%v means something else:\n%s\n---\n%s", c, text, next)
		}
		same := 0
		for same < min(len(text), len(next)) && text[same] == next[same] {
			same++
		}
		was, is, text = text[same:], next[same:], next
		for was != "" && is != "" && was[len(was)-1] == is[len(is)-1] {
			was, is = was[:len(was)-1], is[:len(is)-1]
		}
	}
	return text, was, is, true
}

// back makes changes that undo each other: all bytes are as before.
func (e *editor) back(changes ...Change) {
	if got, _, _, ok := e.edit(changes...); ok && got != e.text && !e.isShared {
		e.Errorf("%v:\n%q\n--- became\n%q", changes, e.text, got)
	}
}

// someTexts are what people type.
var someTexts = []string{
	"Name", "a: b", "# x", "a #b", "*b", "", "one\ntwo", "one\n\n two\n", "- x", "[x", "it's", `say "x"`, "x, y", "null", "\u00a0x", "é\x01",
}

// change tries each operation at a value.
func (e *editor) change(path Path, v Tree) {
	sub := func(steps ...any) Path { return slices.Concat(path, steps) }
	text := Tree{Text: someTexts[e.random.IntN(len(someTexts))]}
	switch n := len(v.Items); {
	case v.Kind == Leaf && len(path) > 0:
		_, was, _, ok := e.edit(Change{Do: Set, Path: path, Value: text})
		if ok && !e.isShared && strings.Contains(was, "\n") && !strings.ContainsAny(v.Text, " \n") && !strings.Contains(e.text, ":\n") {
			e.Errorf("%v to %q replaced %q in\n%s", path, text.Text, was, e.text)
		}
		if v.Text != "" {
			e.edit(Change{Do: Set, Path: path, Value: mapping("value", v.Text, "label", text.Text)}, Change{Do: Set, Path: path, Value: v})
		}
	case v.Kind == Mapping && n > 0:
		e.back(Change{Do: Set, Path: sub("zz"), Value: text}, Change{Do: Delete, Path: sub("zz")})
		e.back(Change{Do: Insert, Path: sub("zz", 0), Value: text}, Change{Do: Insert, Path: sub("zz", 0), Value: text}, Change{Do: Delete, Path: sub("zz")})
		_, was, is, ok := e.edit(Change{Do: Delete, Path: sub(v.Keys[e.random.IntN(n)])})
		if ok && n > 1 && is != "" && !e.isShared {
			e.Errorf("a key less in %v: %q became %q in\n%s", path, was, is, e.text)
		}
	case v.Kind == List && n > 0:
		if v.Items[0].Kind == Mapping {
			text = mapping("id", "new", "type", "textfield", "label", text.Text)
		}
		i, at := e.random.IntN(n), e.random.IntN(n+1)
		e.back(Change{Do: Insert, Path: sub(at), Value: text}, Change{Do: Delete, Path: sub(at)})
		_, was, is, ok := e.edit(Change{Do: Delete, Path: sub(i)})
		if ok && n > 1 && is != "" && !e.isShared {
			e.Errorf("an item less in %v: %q became %q in\n%s", path, was, is, e.text)
		}
		if i+1 < n {
			e.back(Change{Do: Move, Path: sub(i), To: sub(i + 1)}, Change{Do: Move, Path: sub(i + 1), To: sub(i)})
		}
		e.transfer(sub(i))
	}
}

// transfer moves a question to the beginning of another list, and back if it is the same one there.
func (e *editor) transfer(path Path) {
	if len(e.questions) == 0 {
		return
	}
	to := append(slices.Clone(e.questions[e.random.IntN(len(e.questions))]), 0)
	there, back := Change{Do: Move, Path: path, To: to}, Change{Do: Move, Path: to, To: path}
	if after, ok := e.tree.Apply(there); ok {
		if again, _ := after.Apply(back); again.Equal(e.tree) {
			e.edit(there, back)
		}
	}
}

// TestEditForms changes all forms of the documents, and other spellings of them, in all ways. A change has its
// meaning and touches its entry alone, or is refused. Its opposite gives the same bytes.
func TestEditForms(t *testing.T) {
	e := &editor{T: t, random: rand.New(rand.NewPCG(1, 2))}
	changes := testkit.Rounds(1, 20)
	for _, text := range formTexts(t) {
		for range testkit.Rounds(2, 5) {
			e.read([]string{text, strings.ReplaceAll(text, "\n", "\r\n"), strings.TrimSuffix(text, "\n")}[e.random.IntN(3)])
			var values []func()
			visit(e.tree, nil, func(path Path, v Tree) { values = append(values, func() { e.change(path, v) }) })
			for range changes {
				values[e.random.IntN(len(values))]()
			}
			text = mutate(e.random, text)
		}
	}
	if e.refused*100 > 2*e.tried {
		t.Errorf("%d of %d changes refused", e.refused, e.tried)
	}
	t.Logf("%d of %d changes refused", e.refused, e.tried)
}
