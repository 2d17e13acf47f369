package markup

import "slices"

// Get returns the value at a path.
func (t Tree) Get(path Path) (Tree, bool) {
	for _, step := range path {
		i := t.index(step)
		if i < 0 || i >= len(t.Items) {
			return Tree{}, false
		}
		t = t.Items[i]
	}
	return t, true
}

// index returns where a step of a path leads, or would, and -1 for a key that is missing.
func (t Tree) index(step any) int {
	if i, isIndex := step.(int); isIndex && t.Kind == List {
		return i
	}
	return slices.IndexFunc(t.Keys, func(key string) bool { return key == step })
}

// Equal reports whether two values are the same, with their keys in the same order.
func (t Tree) Equal(other Tree) bool {
	return t.Kind == other.Kind && t.Text == other.Text && slices.Equal(t.Keys, other.Keys) &&
		slices.EqualFunc(t.Items, other.Items, Tree.Equal)
}

// Apply returns the tree with a change: what a changed text must mean.
func (t Tree) Apply(c Change) (Tree, bool) {
	item, ok := t.Get(c.Path)
	switch {
	case len(c.Path) == 0, c.Do == Move && (!ok || len(c.To) == 0):
		return t, false
	case c.Do == Move:
		t, _ = t.with(c.Path, Change{Do: Delete})
		return t.with(c.To, Change{Do: Insert, Value: item})
	}
	return t.with(c.Path, c)
}

// with makes a change at a path. Mappings that are missing on the way to a new value are made, too.
func (t Tree) with(path Path, c Change) (_ Tree, ok bool) {
	former := t
	key, isKey := path[0].(string)
	isLast, n := len(path) == 1, len(t.Items)
	if t.Text == "" && n == 0 {
		t.Kind = List
		if isKey {
			t.Kind = Mapping
		}
	}
	t.Keys, t.Items = slices.Clone(t.Keys), slices.Clone(t.Items)
	i := t.index(path[0])
	switch {
	case i < 0 && isKey && c.Do != Delete && t.Kind == Mapping:
		i = n
		t.Keys, t.Items = append(t.Keys, key), append(t.Items, Tree{})
	case isLast && c.Do == Insert && !isKey && i >= 0 && i <= n:
		t.Items = slices.Insert(t.Items, i, Tree{})
	case i < 0 || i >= n:
		return former, false
	}
	switch {
	case !isLast:
		t.Items[i], ok = t.Items[i].with(path[1:], c)
		return t, ok
	case c.Do != Delete:
		t.Items[i] = c.Value
		return t, true
	case isKey:
		t.Keys = slices.Delete(t.Keys, i, i+1)
	}
	t.Items = slices.Delete(t.Items, i, i+1)
	return t, true
}
