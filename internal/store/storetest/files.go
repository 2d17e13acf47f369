package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var fileTests = []test{
	{"what is staged and named can be read", testFileContents},
	{"found by every way to a submission but a list", testFilesEverywhere},
	{"ranges", testFileRanges},
	{"read through their own submission only", testFileKeys},
	{"what is not staged can't be named", testNotStaged},
	{"a create that is refused leaves them staged", testRefusedWithFiles},
	{"a key is found with its files", testKeyWithFiles},
	{"an update changes them", testUpdateFiles},
	{"a merge that fails changes none", testUpdateFilesRefused},
	{"deleted with their submission", testDeleteFiles},
	{"an error of the source ends a staging", testStageError},
	{"nothing is staged for a caller who has left", testStageCancelled},
	{"many uploads beside creates", testConcurrentUploads},
	{"a dump reads them in its snapshot", testDumpFiles},
	{"a load names what is staged", testLoadFiles},
}

// chunkSize is that of the engines. What is special lies around its multiples.
const chunkSize = 64 << 10

// noise is content that no two calls share.
func noise(size int) []byte {
	data := make([]byte, size)
	seed := rand.NewChaCha8([32]byte{byte(size), byte(rand.Uint32()), byte(rand.Uint32()), byte(rand.Uint32())})
	_, _ = seed.Read(data)
	return data
}

func (b *bench) stage(t *testing.T, name string, data []byte) forms.StoredFile {
	t.Helper()
	return b.stageBy(t, ctx, name, data)
}

// stageBy stages a file for a request that ends with upload.
func (b *bench) stageBy(t *testing.T, upload context.Context, name string, data []byte) forms.StoredFile { //nolint:revive // t first, as everywhere
	t.Helper()
	f, err := b.StageFile(upload, bytes.NewReader(data))
	if err != nil {
		t.Fatalf("stage %d bytes: %v", len(data), err)
	}
	sum := sha256.Sum256(data)
	Same(t, "staged", f, forms.StoredFile{ID: f.ID, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
	f.FieldID, f.Name, f.Type = "f0", name, "application/octet-stream"
	return f
}

func withFiles(n store.New, files ...forms.StoredFile) store.New {
	n.Files = files
	return n
}

func (b *bench) openFile(t *testing.T, key store.Key, id int64) io.ReadSeekCloser {
	t.Helper()
	r, err := b.OpenFile(ctx, key, id)
	if err != nil {
		t.Fatalf("open file: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close file: %v", err)
		}
	})
	return r
}

func (b *bench) checkFile(t *testing.T, key store.Key, f forms.StoredFile, want []byte) {
	t.Helper()
	got, err := io.ReadAll(b.openFile(t, key, f.ID))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("file %s: %d bytes, %v; want the %d that were stored", f.Name, len(got), err, len(want))
	}
}

func (b *bench) noFile(t *testing.T, what string, key store.Key, id int64) {
	t.Helper()
	if _, err := b.OpenFile(ctx, key, id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open %s: %v, want %v", what, err, store.ErrNotFound)
	}
}

// notStaged checks that a create with the file is refused and stores nothing.
func (b *bench) notStaged(t *testing.T, what string, files ...forms.StoredFile) {
	t.Helper()
	before := len(b.all(t, "form"))
	if _, err := b.Create(ctx, withFiles(sample("form", "amy", "x"), files...)); !errors.Is(err, store.ErrNoFile) {
		t.Errorf("create with %s: %v, want %v", what, err, store.ErrNoFile)
	}
	Same(t, "stored with "+what, len(b.all(t, "form")), before)
}

// readOn reads the content of a file that its submission has lost meanwhile.
func readOn(t *testing.T, r io.ReadSeeker, want []byte) {
	t.Helper()
	for range 2 {
		_, err := r.Seek(0, io.SeekStart)
		got, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil || !bytes.Equal(got, want) {
			t.Errorf("a file that was lost while it was open: %d bytes, %v", len(got), err)
		}
	}
}

func testFileContents(t *testing.T, b *bench) {
	contents := map[store.Key][]byte{}
	var files []record
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 7} {
		for _, data := range [][]byte{noise(size), make([]byte, size)} { // zeros are special to some engines
			r := b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, fmt.Sprint(size), data)))
			contents[r.key()] = data
			files = append(files, r)
		}
	}
	for range 2 {
		for _, r := range files {
			b.checkFile(t, r.key(), r.Files[0], contents[r.key()])
		}
		b.reopen(t)
	}
	// Other readers than those that deliver whole chunks.
	data := noise(chunkSize + 100)
	f, err := b.StageFile(ctx, io.MultiReader(bytes.NewReader(data[:5]), bytes.NewReader(data[5:chunkSize-1]), bytes.NewReader(data[chunkSize-1:])))
	if err != nil {
		t.Fatal(err)
	}
	b.checkFile(t, b.create(t, withFiles(sample("form", "amy", "x"), f)).key(), f, data)
}

func testFilesEverywhere(t *testing.T, b *bench) {
	first, second := b.stage(t, "a", noise(10)), b.stage(t, `"Ü" <b>.pdf`, noise(20))
	n := withFiles(keyed(sample("form", "amy", "x"), "key"), first, second)
	r := b.create(t, n)
	Same(t, "created", r.Files, n.Files)
	plain := b.create(t, sample("form", "amy", "x"))
	for range 2 {
		Same(t, "found", b.get(t, r.key()), r)
		Same(t, "without files", b.get(t, plain.key()), plain)
		listed := r
		listed.Files = nil
		Same(t, "listed", b.all(t, "form"), []record{listed, plain})
		Same(t, "listed with changes", b.scan(t, store.Query{PageID: 1, FormID: "form", Changes: true}), []record{r, plain})
		b.repeated(t, n, r)
		Same(t, "dumped", b.dump(t), []row{{r, "", n.Key, n.Body}, {record: plain}})
		b.reopen(t)
	}
}

func testFileRanges(t *testing.T, b *bench) {
	data := noise(2*chunkSize + 1000)
	r := b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "a", data)))
	file := b.openFile(t, r.key(), r.Files[0].ID)
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil || end != int64(len(data)) {
		t.Fatalf("end at %d, %v", end, err)
	}
	for _, part := range [][2]int64{{0, 1}, {chunkSize - 1, chunkSize + 1}, {5, 2*chunkSize + 5}, {2 * chunkSize, end}, {end - 1, end}, {end, end}} {
		if _, err := file.Seek(part[0], io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, part[1]-part[0])
		if _, err := io.ReadFull(file, got); err != nil || !bytes.Equal(got, data[part[0]:part[1]]) {
			t.Errorf("bytes %d to %d differ: %v", part[0], part[1], err)
		}
	}
	for _, offset := range []int64{end, end + 1, 1 << 40} {
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if n, err := file.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("read at %d: %d bytes, %v, want %v", offset, n, err, io.EOF)
		}
	}
	if at, err := file.Seek(-1, io.SeekStart); err == nil {
		t.Errorf("seek before the beginning: at %d", at)
	}
}

func testFileKeys(t *testing.T, b *bench) {
	mine, other, staged := b.stage(t, "mine", noise(10)), b.stage(t, "other", noise(10)), b.stage(t, "staged", noise(10))
	r := b.create(t, withFiles(sample("form", "amy", "x"), mine))
	elsewhere := b.create(t, withFiles(sample("other", "amy", "x"), other))
	key := r.key()
	b.noFile(t, "another's", key, other.ID)
	b.noFile(t, "a staged one", key, staged.ID)
	b.noFile(t, "an unknown one", key, 1)
	b.noFile(t, "under another submission", elsewhere.key(), mine.ID)
	b.noFile(t, "under another form", store.Key{PageID: 1, FormID: "other", ID: r.ID}, mine.ID)
	b.noFile(t, "under another page", store.Key{PageID: 2, FormID: "form", ID: r.ID}, mine.ID)
	b.noFile(t, "under a missing submission", store.Key{PageID: 1, FormID: "form", ID: r.ID + 100}, mine.ID)
}

func testNotStaged(t *testing.T, b *bench) {
	data := noise(100)
	f, dropped := b.stage(t, "a", data), b.stage(t, "dropped", noise(chunkSize+1))
	unknown := forms.StoredFile{ID: 4711, FieldID: "f0", Name: "unknown"}
	b.drop(t, dropped.ID, dropped.ID, 4712)
	b.notStaged(t, "one that was dropped", dropped)
	b.notStaged(t, "one that is unknown", unknown)
	b.notStaged(t, "one that is staged and one that is not", f, unknown)
	b.notStaged(t, "one twice", f, f)
	r := b.create(t, withFiles(sample("form", "amy", "x"), f)) // it is still staged after all of that
	b.notStaged(t, "another's", f)
	b.drop(t, f.ID) // which is for staged ones
	b.checkFile(t, r.key(), f, data)
}

// drop drops files, and waits until the engine has done so.
func (b *bench) drop(t *testing.T, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		b.DropFile(id)
	}
	if err := b.Purge(ctx); err != nil {
		t.Fatal(err)
	}
}

func testRefusedWithFiles(t *testing.T, b *bench) {
	first := b.create(t, keyed(withSubmitterKey(sample("form", "", "x"), "once"), "key"))
	data := noise(100)
	f := b.stage(t, "a", data)
	b.refused(t, "a second", withFiles(withSubmitterKey(sample("form", "", "x"), "once"), f))
	again := withFiles(keyed(sample("form", "", "x"), "key"), f)
	b.repeated(t, again, first)
	b.repeated(t, withFiles(again, forms.StoredFile{ID: 1}), first) // the key comes first
	r := b.create(t, withFiles(sample("form", "", "x"), f))
	b.checkFile(t, r.key(), f, data)
}

func testKeyWithFiles(t *testing.T, b *bench) {
	n := keyed(sample("form", "amy", "x"), "key")
	stored := make([]record, 10)
	staged := make([]forms.StoredFile, len(stored))
	data := noise(100)
	for i := range staged {
		staged[i] = b.stage(t, "a", data)
	}
	errs := Parallel(len(stored), func(i int) error {
		sub, err := b.Create(ctx, withFiles(n, staged[i]))
		if err == nil {
			stored[i] = decode(t, sub)
		}
		return err
	})
	created := 0
	for i, err := range errs {
		if err == nil {
			created++
			b.repeated(t, n, stored[i])
			b.checkFile(t, stored[i].key(), staged[i], data)
		} else if !errors.Is(err, store.ErrKeyUsed) {
			t.Errorf("create: %v, want %v", err, store.ErrKeyUsed)
		}
	}
	Same(t, "created", created, 1)
}

// change returns a merge that sets the files.
func change(files ...forms.StoredFile) store.Merge {
	return func(sub forms.Submission) (store.Change, error) {
		entries, err := sub.Entries.Decode()
		return store.Change{Entries: entries, Files: files}, err
	}
}

func testUpdateFiles(t *testing.T, b *bench) {
	contents := [][]byte{noise(2 * chunkSize), noise(100), noise(chunkSize + 1)}
	a, kept, added := b.stage(t, "a", contents[0]), b.stage(t, "kept", contents[1]), b.stage(t, "added", contents[2])
	r := b.create(t, withFiles(sample("form", "amy", "x"), a, kept))
	reading := b.openFile(t, r.key(), a.ID)
	renamed := kept
	renamed.Name = "renamed"
	for _, files := range [][]forms.StoredFile{{a, kept}, {added, renamed}, {renamed, added}} {
		sub, err := b.Update(ctx, r.key(), change(files...))
		if err != nil {
			t.Fatal(err)
		}
		r.Files = files
		Same(t, "updated", decode(t, sub), r)
		Same(t, "found", b.get(t, r.key()), r)
	}
	b.noFile(t, "what was removed", r.key(), a.ID)
	readOn(t, reading, contents[0])
	b.notStaged(t, "what was removed", a)
	b.checkFile(t, r.key(), renamed, contents[1])
	b.checkFile(t, r.key(), added, contents[2])
	if _, err := b.Update(ctx, r.key(), set(t, "f0", "y")); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	b.checkFile(t, r.key(), added, contents[2])
	sub, err := b.Update(ctx, r.key(), change())
	if err != nil || sub.Files != nil {
		t.Errorf("files %v, %v; want none", sub.Files, err)
	}
}

func testUpdateFilesRefused(t *testing.T, b *bench) {
	data := noise(100)
	f, staged := b.stage(t, "a", data), b.stage(t, "staged", data)
	r := b.create(t, withFiles(sample("form", "amy", "x"), f))
	refusal := errors.New("refused")
	_, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) {
		return store.Change{Files: []forms.StoredFile{staged}}, refusal
	})
	if err != refusal { //nolint:errorlint // as it is, not wrapped
		t.Errorf("update: %v, want %v itself", err, refusal)
	}
	for what, files := range map[string][]forms.StoredFile{
		"one that is not staged": {staged, {ID: 4711}}, "one twice": {f, f}, "a staged one twice": {staged, staged},
	} {
		if _, err := b.Update(ctx, r.key(), change(files...)); !errors.Is(err, store.ErrNoFile) {
			t.Errorf("update with %s: %v, want %v", what, err, store.ErrNoFile)
		}
		Same(t, "found", b.get(t, r.key()), r)
	}
	b.checkFile(t, r.key(), f, data)
	if _, err := b.Update(ctx, r.key(), change(f, staged)); err != nil {
		t.Errorf("update: %v", err)
	}
}

func testDeleteFiles(t *testing.T, b *bench) {
	data := noise(2 * chunkSize)
	gone, stays := b.stage(t, "gone", data), b.stage(t, "stays", data)
	r := b.create(t, withFiles(sample("form", "amy", "x"), gone))
	other := b.create(t, withFiles(sample("form", "amy", "x"), stays))
	reading := b.openFile(t, r.key(), gone.ID)
	if err := b.Delete(ctx, r.key(), func(forms.Submission) error { return errors.New("refused") }); err == nil {
		t.Error("delete: no error")
	}
	b.checkFile(t, r.key(), gone, data)
	b.delete(t, r.key())
	b.noFile(t, "what is deleted", r.key(), gone.ID)
	readOn(t, reading, data)
	b.notStaged(t, "what is deleted", gone)
	b.checkFile(t, other.key(), stays, data)
}

func testStageError(t *testing.T, b *bench) {
	broken := errors.New("broken off")
	for _, size := range []int{0, 10, chunkSize, 2*chunkSize + 1} {
		_, err := b.StageFile(ctx, io.MultiReader(bytes.NewReader(noise(size)), failing{broken}))
		if err != broken { //nolint:errorlint // as it is, not wrapped
			t.Errorf("stage: %v, want %v itself", err, broken)
		}
	}
	data := noise(10)
	f := b.stage(t, "a", data)
	b.checkFile(t, b.create(t, withFiles(sample("form", "amy", "x"), f)).key(), f, data)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func testStageCancelled(t *testing.T, b *bench) {
	leaving, cancel := context.WithCancel(ctx)
	r := io.MultiReader(bytes.NewReader(noise(chunkSize)), cancelling{cancel}, bytes.NewReader(noise(chunkSize)))
	if _, err := b.StageFile(leaving, r); !errors.Is(err, context.Canceled) {
		t.Errorf("stage: %v, want %v", err, context.Canceled)
	}
}

// cancelling ends a context when it is read.
type cancelling struct{ cancel func() }

func (c cancelling) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.EOF
}

func testConcurrentUploads(t *testing.T, b *bench) {
	const uploads, creates = 10, 100
	contents := make([][]byte, uploads)
	for i := range contents {
		contents[i] = noise(chunkSize*(i%4) + 1000 + i)
	}
	NoErrors(t, "upload or create", Parallel(uploads+creates, func(i int) error {
		n := sample("small", "amy", "x")
		if i < uploads {
			f, err := b.StageFile(ctx, bytes.NewReader(contents[i]))
			if err != nil {
				return err
			}
			n = withFiles(sample("form", "amy", fmt.Sprint(i)), f)
		}
		_, err := b.Create(ctx, n)
		return err
	}))
	for _, r := range b.all(t, "form") {
		var i int
		_, _ = fmt.Sscan(r.Entries[0].Value, &i)
		b.checkFile(t, r.key(), b.get(t, r.key()).Files[0], contents[i])
	}
	Same(t, "stored", len(b.all(t, "form"))+len(b.all(t, "small")), uploads+creates)
}

func testDumpFiles(t *testing.T, b *bench) {
	const count = 12
	contents := map[string][]byte{}
	var made []record
	for i := range count {
		n := sample("form", "amy", fmt.Sprint(i))
		if i%3 == 0 {
			for part := range 2 {
				name := fmt.Sprint(i, "-", part)
				contents[name] = noise(chunkSize*part + i)
				n.Files = append(n.Files, b.stage(t, name, contents[name]))
			}
		}
		made = append(made, b.create(t, n))
	}
	var seen []record
	err := EachDumped(b.Dump(ctx), func(r store.Record) error {
		if len(seen) == 0 {
			for _, m := range made[2:] {
				b.delete(t, m.key())
			}
		}
		seen = append(seen, decode(t, r.Submission))
		for _, f := range r.Files {
			file := r.Open(f)
			got, err := io.ReadAll(file)
			if err = errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, contents[f.Name]) {
				t.Errorf("file %s: %d bytes, %v, want %d", f.Name, len(got), err, len(contents[f.Name]))
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "dumped", seen, made)
	Same(t, "left", len(b.all(t, "form")), 2)
}

func testLoadFiles(t *testing.T, b *bench) {
	data := noise(chunkSize + 5)
	f := b.stage(t, "a", data)
	r := loadable("form", 7)
	r.Files = []forms.StoredFile{f}
	unknown := loadable("form", 8)
	unknown.Files = []forms.StoredFile{{ID: 4711}}
	if err := b.Load(ctx, []store.Record{r, unknown}); !errors.Is(err, store.ErrNoFile) {
		t.Errorf("load: %v, want %v", err, store.ErrNoFile)
	}
	b.checkCount(t, 0)
	b.load(t, r)
	b.checkFile(t, store.Key{PageID: 1, FormID: "form", ID: 7}, f, data)
}
