package service

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/gabriel-vasile/mimetype"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// DefaultMaxFile is the largest file taken unless configured otherwise.
const DefaultMaxFile = 25 << 20

// How many files there may be. These counts and the limit of a file's size bound what
// one submission can hold.
const (
	MaxFilesPerField = 10
	MaxFiles         = 100 // of a submission
)

// TooManyFiles is what is wrong with a field of more than MaxFilesPerField.
var TooManyFiles = forms.SayN("may have at most {0} file", "may have at most {0} files", MaxFilesPerField)

// sniffBytes is how many bytes from the start of a file decide its media type.
const sniffBytes = 3 << 10

// StageFile checks a file that is being sent for a field, and stores its content. The
// caller puts the returned file into an answer for Create or Merge, or else calls
// DropFiles. name must come from forms.CleanFileName.
//
// Errors: *forms.Invalid for a file that the field does not take, the read
// error of r as it is, and those of the service.
func (a *Access) StageFile(
	ctx context.Context, field *forms.Field, name, declaredType string, r io.Reader,
) (file forms.StoredFile, err error) {
	from := &fileReader{r: r, limit: a.conf.MaxFile}
	if field.MaxSize > 0 {
		from.limit = min(from.limit, field.MaxSize)
	}
	buffered := bufio.NewReaderSize(from, sniffBytes)
	head, err := buffered.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return file, a.stageError(field, name, from, err)
	}
	content := mimetype.Detect(head)
	if !accepts(field, name, declaredType, content) {
		return file, forms.InvalidField(field.ID, wrongKind(field, name))
	}
	if file, err = a.conf.Files.StageFile(ctx, buffered); err != nil {
		return file, a.stageError(field, name, from, err)
	}
	file.FieldID, file.Name, file.Type = field.ID, name, content.String()
	return file, nil
}

func (a *Access) stageError(field *forms.Field, name string, from *fileReader, err error) error {
	switch {
	case from.tooLarge() && from.limit == field.MaxSize:
		return forms.InvalidField(field.ID,
			forms.Say("must be at most {0}, and {1} is larger", forms.SizeText(field.MaxSize), name))
	case from.tooLarge():
		return NewError(TooLarge, forms.Say("A file is too large: each may have at most {0}. Nothing was changed.",
			forms.SizeText(a.conf.MaxFile)))
	case from.err != nil:
		return from.err
	default:
		return Explain(err)
	}
}

// fileReader ends with an error when a file is larger than allowed, and
// remembers whether the error of a read was its own or that of the client's
// connection.
type fileReader struct {
	r           io.Reader
	limit, read int64 // bytes
	err         error // of r, but for io.EOF
}

var errFileTooLarge = errors.New("file is too large")

func (f *fileReader) tooLarge() bool { return f.read > f.limit }

func (f *fileReader) Read(p []byte) (int, error) {
	// One byte more than allowed tells a file that is too large from one that
	// just fits.
	n, err := f.r.Read(p[:min(int64(len(p)), f.limit+1-f.read)])
	f.read += int64(n)
	if f.tooLarge() {
		return 0, errFileTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// DropFiles has the contents of files removed that were staged and not stored.
func (a *Access) DropFiles(files []forms.StoredFile) {
	for _, file := range files {
		a.conf.Files.DropFile(file.ID)
	}
}

// dropUnused drops staged files that did not become part of a submission. When it
// is not known whether they did, it leaves them to the store.
func (a *Access) dropUnused(staged []forms.StoredFile, stored forms.Submission, err error) {
	var failure *Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		(errors.As(err, &failure) && (failure.Kind == Unavailable || failure.Kind == InDoubt)) {
		return
	}
	unused := slices.DeleteFunc(staged, func(file forms.StoredFile) bool {
		return err == nil && slices.ContainsFunc(stored.Files, func(f forms.StoredFile) bool { return f.ID == file.ID })
	})
	a.DropFiles(unused)
}

// StagedFiles returns the files that the answers hold.
func StagedFiles(answers []forms.Answer) []forms.StoredFile {
	var files []forms.StoredFile
	for i := range answers {
		files = append(files, answers[i].Files...)
	}
	return files
}

// checkFiles limits how many files a submission has. One that has more already may
// keep as many.
func checkFiles(files, stored []forms.StoredFile) error {
	if n := len(files); n <= MaxFiles || n <= len(stored) {
		return nil
	}
	return NewError(TooLarge, forms.SayN("The submission as a whole would have more than {0} file. Nothing was changed.",
		"The submission as a whole would have more than {0} files. Nothing was changed.", MaxFiles))
}

// maxOpenTries bounds how often OpenFile starts over. A file can be replaced between
// reading the submission and opening the content.
const maxOpenTries = 10

// OpenFile opens a file of a submission that the caller may read.
func (a *Access) OpenFile(
	ctx context.Context, id int64, fieldID, name string,
) (forms.StoredFile, io.ReadSeekCloser, error) {
	for range maxOpenTries {
		sub, err := a.Get(ctx, id)
		if err != nil {
			return forms.StoredFile{}, nil, err
		}
		i := -1
		for _, id := range []string{fieldID, a.Form.CurrentID(fieldID)} {
			if i < 0 {
				i = slices.IndexFunc(sub.Files, func(f forms.StoredFile) bool { return f.FieldID == id && f.Name == name })
			}
		}
		if i < 0 {
			return forms.StoredFile{}, nil, NewError(NotFound, forms.Say("There is no such file."))
		}
		content, err := a.conf.Files.OpenFile(ctx, a.key(id), sub.Files[i].ID)
		if !errors.Is(err, store.ErrNotFound) {
			return sub.Files[i], content, Explain(err)
		}
	}
	return forms.StoredFile{}, nil, NewError(Unavailable,
		forms.Say("The file is being replaced again and again. Try again in a moment."))
}
