package service

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

const maxFile = 1000

// newPapers is a world whose form "named" takes files, too.
func newPapers(t *testing.T, on enginetest.Engine) *world {
	t.Helper()
	w := newWorldOn(t, on)
	for _, f := range w.page.Forms {
		f.Fields = append(f.Fields,
			&forms.Field{ID: "doc", Type: forms.File},
			&forms.Field{ID: "pic", Type: forms.File, Accept: []string{".pdf", "image/*"}, MaxSize: 100})
	}
	return w
}

// stages has a file staged, which must be taken.
func (w *world) stages(a *Access, fieldID, name, content string) forms.StoredFile {
	w.t.Helper()
	file, err := w.stage(a, fieldID, name, strings.NewReader(content))
	if err != nil {
		w.t.Fatalf("stage %s: %v", name, err)
	}
	return file
}

func (w *world) stage(a *Access, fieldID, name string, r io.Reader) (forms.StoredFile, error) {
	w.t.Helper()
	for i := range a.Form.Fields {
		if field := a.Form.Fields[i]; field.ID == fieldID {
			return a.StageFile(w.t.Context(), field, name, "", r)
		}
	}
	w.t.Fatalf("there is no field %s", fieldID)
	return forms.StoredFile{}, nil
}

func fileAnswer(files ...forms.StoredFile) forms.Answer {
	a := forms.Answer{FieldID: files[0].FieldID, Files: files}
	for i, f := range files {
		if i > 0 {
			a.Value += forms.Separator
		}
		a.Value += f.Name
	}
	return a
}

func TestStageFile(t *testing.T) { enginetest.Each(t, testStageFile) }

func testStageFile(t *testing.T, on enginetest.Engine) {
	w := newPapers(t, on)
	a := w.as(owner, "named")
	file := w.stages(a, "pic", "a.pdf", "%PDF-1.7")
	if file.FieldID != "pic" || file.Name != "a.pdf" || file.Size != 8 || file.Type != "application/pdf" || len(file.SHA256) != 64 {
		t.Errorf("staged: %+v", file)
	}
	broken := errors.New("the line is cut")
	for name, tt := range map[string]struct {
		field   string
		content io.Reader
		want    string
	}{
		"largest":         {"doc", strings.NewReader(strings.Repeat("x", maxFile)), "ok"},
		"too large":       {"doc", strings.NewReader(strings.Repeat("x", maxFile+1)), "too large"},
		"endless":         {"doc", iotest.OneByteReader(endless{}), "too large"},
		"beyond maxSize":  {"pic", strings.NewReader("%PDF-1.7" + strings.Repeat("x", 93)), `invalid map[pic:must be at most 100 bytes, and a.pdf is larger] []`},
		"at maxSize":      {"pic", strings.NewReader("%PDF-1.7" + strings.Repeat("x", 92)), "ok"},
		"another content": {"pic", strings.NewReader("text"), `invalid map[pic:takes only PDF files and pictures, and a.pdf is neither] []`},
		"empty":           {"doc", strings.NewReader(""), "ok"},
	} {
		_, err := w.stage(a, tt.field, "a.pdf", tt.content)
		testkit.Same(t, name, outcome(err), tt.want)
	}
	for _, at := range []int64{0, 10, 500} {
		testkit.ErrorIs(t, at, testkit.ErrorOf(w.stage(a, "doc", "a", io.MultiReader(io.LimitReader(endless{}, at), iotest.ErrReader(broken)))), broken)
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Whatever becomes of the answers, no content stays that no submission has.
func TestUnusedFilesAreDropped(t *testing.T) { enginetest.Each(t, testUnusedFilesAreDropped) }

func testUnusedFilesAreDropped(t *testing.T, on enginetest.Engine) {
	w := newPapers(t, on)
	files := &countingFiles{Files: w.opts.Files, staged: map[int64]bool{}}
	w.opts.Files = files
	a, ctx := w.as(owner, "named"), t.Context()
	staged := func() []forms.Answer { return []forms.Answer{fileAnswer(w.stages(a, "doc", "a", "x"))} }
	leaves := func(what string, err error, want string, left ...int64) {
		t.Helper()
		w.wants(what, err, want)
		files.expect(t, left...)
	}
	leaves("create without a text", w.creates(a, staged(), ""), `invalid map[text:is required] []`)
	kept := w.stages(a, "doc", "a", "x")
	sub, _, err := a.Create(ctx, append(answer("text"), fileAnswer(kept)), "")
	leaves("create", err, "ok", kept.ID)
	testkit.Diff(t, "files", sub.Files, []forms.StoredFile{kept})

	refused := errors.New("refused")
	merge := func(a *Access, pre Precondition, admit func(int) error) error {
		return testkit.ErrorOf(a.Merge(ctx, sub.ID, staged(), pre, admit))
	}
	leaves("no room for the answer", merge(a, nil, func(int) error { return refused }), "fault: refused", kept.ID)
	leaves("merge by another", merge(w.as(viewer, "named"), nil, admitAll), "not found", kept.ID)
	leaves("another state", merge(a, func(string) error { return refused }, admitAll), "fault: refused", kept.ID)
	leaves("validate a create", a.ValidateNew(ctx, append(answer("text"), staged()...), ""), "ok", kept.ID)
	leaves("validate a merge", a.ValidateMerge(ctx, sub.ID, staged(), nil), "ok", kept.ID)

	var many []forms.Answer
	for i := range MaxFiles/MaxFilesPerField + 1 {
		id := "more" + string(rune('a'+i))
		a.Form.Fields = append(a.Form.Fields, &forms.Field{ID: id, Type: forms.File})
		var ten []forms.StoredFile
		for j := range MaxFilesPerField {
			ten = append(ten, w.stages(a, id, string(rune('a'+j)), ""))
		}
		many = append(many, fileAnswer(ten...))
	}
	w.opts.MaxSubmission = 1 << 20
	leaves("too many files", testkit.ErrorOf(a.Merge(ctx, sub.ID, many, nil, admitAll)), "too large", kept.ID)

	// It is not known what became of this one: the store decides.
	lost := w.stages(a, "doc", "c", "z")
	w.opts.Store = unavailable{w.store}
	create := w.creates(a, append(answer("text"), fileAnswer(lost)), "")
	leaves("create without a store", create, "unavailable", kept.ID, lost.ID)
}

// A repeat with the same key is the same if the files have the same names and
// contents. Its own contents are dropped.
func TestRepeatsWithFiles(t *testing.T) { enginetest.Each(t, testRepeatsWithFiles) }

func testRepeatsWithFiles(t *testing.T, on enginetest.Engine) {
	w := newPapers(t, on)
	files := &countingFiles{Files: w.opts.Files, staged: map[int64]bool{}}
	w.opts.Files = files
	a := w.as(owner, "named")
	create := func(name, content string) (forms.Submission, bool, error) {
		return a.Create(t.Context(), append(answer("text"), fileAnswer(w.stages(a, "doc", name, content))), "key")
	}
	first, replayed, err := create("a", "content")
	if err != nil || replayed {
		t.Fatalf("first create: replayed is %t, %v", replayed, err)
	}
	kept := first.Files[0].ID
	again, replayed, err := create("a", "content")
	if err != nil || !replayed || again.ID != first.ID {
		t.Errorf("repeat: submission %d, replayed is %t, %v", again.ID, replayed, err)
	}
	files.expect(t, kept)
	for name, content := range map[string]string{"a": "other content", "b": "content"} {
		var failure *Error
		if _, _, err := create(name, content); !errors.As(err, &failure) || failure.Kind != KeyReused {
			t.Errorf("file %s with %q: %v, want %v", name, content, err, KeyReused)
		}
		files.expect(t, kept)
	}
}

func TestOpenFile(t *testing.T) { enginetest.Each(t, testOpenFile) }

func testOpenFile(t *testing.T, on enginetest.Engine) {
	w := newPapers(t, on)
	a := w.as(owner, "named")
	sub, _, err := a.Create(t.Context(), append(answer("text"), fileAnswer(w.stages(a, "doc", "a", "content"))), "")
	testkit.Must(t, err)
	file, content, err := a.OpenFile(t.Context(), sub.ID, "doc", "a")
	testkit.Must(t, err)
	defer func() { _ = content.Close() }()
	if text, err := io.ReadAll(content); err != nil || string(text) != "content" || file.Name != "a" {
		t.Errorf("%+v holds %q, %v", file, text, err)
	}
	open := func(a *Access, id int64, fieldID, name string) error {
		_, _, err := a.OpenFile(t.Context(), id, fieldID, name)
		return err
	}
	for what, err := range map[string]error{
		"another name":   open(a, sub.ID, "doc", "b"),
		"another field":  open(a, sub.ID, "pic", "a"),
		"another id":     open(a, sub.ID+1, "doc", "a"),
		"another form":   open(w.as(owner, "anonymous"), sub.ID, "doc", "a"),
		"another viewer": open(w.as(viewer, "named"), sub.ID, "doc", "a"),
	} {
		w.wants(what, err, "not found")
	}
}

// countingFiles notes which contents are staged or belong to a submission.
type countingFiles struct {
	store.Files
	staged map[int64]bool
	again  []int64 // contents that were dropped, although they were before
}

func (c *countingFiles) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	f, err := c.Files.StageFile(ctx, r)
	if err == nil {
		c.staged[f.ID] = true
	}
	return f, err
}

func (c *countingFiles) DropFile(id int64) {
	if !c.staged[id] {
		c.again = append(c.again, id)
	}
	delete(c.staged, id)
	c.Files.DropFile(id)
}

// expect fails the test unless these are all that were not dropped, and all
// others were dropped once.
func (c *countingFiles) expect(t *testing.T, ids ...int64) {
	t.Helper()
	got := slices.Sorted(maps.Keys(c.staged))
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("contents %v were not dropped, want %v", got, ids)
	}
	if len(c.again) > 0 {
		t.Errorf("contents %v were dropped more than once", c.again)
	}
}

// unavailable stores nothing, and can't tell.
type unavailable struct{ store.Store }

func (unavailable) Create(context.Context, store.New) (forms.Submission, error) {
	return forms.Submission{}, store.ErrUnavailable
}
