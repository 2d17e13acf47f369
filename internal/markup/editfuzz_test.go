package markup

import (
	"errors"
	"testing"
)

// FuzzEdit makes changes that bytes choose, in any text: each one has its meaning, or nothing changes.
func FuzzEdit(f *testing.F) {
	for i, text := range formTexts(f) {
		f.Add(text, []byte{byte(i), byte(i >> 2), byte(3 * i), byte(5 * i), byte(7 * i), 1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, text string, choices []byte) {
		choice := func(n int) int {
			if len(choices) == 0 || n == 0 {
				return 0
			}
			c := choices[0]
			choices = choices[1:]
			return int(c) % n
		}
		tree, err := ReadTree(text)
		if err != nil {
			return
		}
		var paths []Path
		visit(tree, nil, func(path Path, v Tree) {
			switch v.Kind {
			case Mapping:
				paths = append(paths, path, append(path, "new"))
			case List:
				paths = append(paths, path, append(path, len(v.Items)))
			case Leaf:
				paths = append(paths, path)
			}
		})
		values := []Tree{
			{},
			{Text: text[:choice(len(text))]},
			{Text: "a: b\n #c\n"},
			texts("x", "- y"), mapping("k", "v", "?", "# l"),
			{Kind: List, Items: []Tree{mapping("a", "b\nc", "d", "", "e", "f")}},
			{Kind: Mapping},
		}
		for range min(len(choices)/5, 8) {
			c := Change{Do: Verb(choice(4)), Path: paths[choice(len(paths))], To: paths[choice(len(paths))], Value: values[choice(len(values))]}
			document, err := ReadDocument(text)
			_ = document.PathAt(choice(20), choice(40))
			want, ok := document.Tree.Apply(c)
			next, _, editErr := Edit(text, c)
			after, readErr := ReadTree(next)
			switch {
			case err != nil || readErr != nil:
				t.Fatalf("%v, %v", err, readErr)
			case editErr != nil && (next != text || !errors.Is(editErr, ErrNotEditable)):
				t.Errorf("%v changed %q to %q", editErr, text, next)
			case editErr == nil && (!ok || !after.Equal(want)):
				t.Errorf("%v of %q became %q", c, text, next)
			}
			text = next
		}
	})
}
