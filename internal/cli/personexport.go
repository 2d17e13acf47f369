package cli

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// export writes a file beside the one that is asked for, which gets its name when it is complete.
func (p *person) export(ctx context.Context) error {
	if _, err := os.Lstat(p.file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is there already: choose a name that is free", p.file))
	}
	write := func(to *os.File) error { return p.exportTo(ctx, zip.NewWriter(to)) }
	return durable.Write(p.file, nil, write, func(temp, path string) error {
		err := os.Link(temp, path) // does not replace a file
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = os.Rename(temp, path) // the file system has no links
		}
		return err
	})
}

// exportTo writes the parts of the archive one after the other. Each reads the submissions again, so that none has to
// be kept in memory.
func (p *person) exportTo(ctx context.Context, archive *zip.Writer) error {
	for _, part := range []struct {
		name  string
		lines func(context.Context, forms.Submission) ([]byte, error)
	}{{"submissions.ndjson", submissionLine}, {"history.ndjson", p.historyLines}} {
		w, err := create(archive, part.name)
		if err == nil {
			err = p.visit(ctx, part.name, true, func(_ *foundForm, sub forms.Submission) error {
				lines, err := part.lines(ctx, sub)
				if err == nil {
					_, err = w.Write(lines)
				}
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	err := p.visit(ctx, "files", true, func(f *foundForm, sub forms.Submission) error {
		return p.exportFiles(ctx, archive, f, sub)
	})
	if err == nil && len(p.found) == 0 {
		err = errors.New("no submission has this name: write it as submissions have it, in the same upper and lower case. " +
			"--erase --dry-run also finds it in changes to submissions of others, and in sessions")
	}
	return errors.Join(err, archive.Close())
}

func create(archive *zip.Writer, name string) (io.Writer, error) {
	return archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
}

func submissionLine(_ context.Context, sub forms.Submission) ([]byte, error) {
	line, err := encode.AppendChanged(nil, sub)
	return append(line, '\n'), err
}

// historyLines are the changes that the person made to a submission, the oldest first.
func (p *person) historyLines(ctx context.Context, sub forms.Submission) ([]byte, error) {
	steps, err := p.store.History(ctx, sub.ID)
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	values, err := sub.Values()
	for _, s := range slices.Backward(steps) { // the value after a change is the one before the next
		step := forms.Step{At: s.At, Username: s.Username, Changes: forms.Index{}.Changes(s.Before, values)}
		if p.made(s) {
			lines = append(lines, append(encode.Step(sub, step), '\n'))
		}
	}
	slices.Reverse(lines)
	return slices.Concat(lines...), err
}

// exportFiles adds the files of a submission as files/ID/N-FIELD/NAME. N makes names unique.
func (p *person) exportFiles(ctx context.Context, archive *zip.Writer, f *foundForm, sub forms.Submission) error {
	sub, err := p.store.Get(ctx, keyOf(sub))
	if errors.Is(err, store.ErrNotFound) { // it was deleted meanwhile
		return nil
	}
	f.Count++
	for i, file := range sub.Files {
		content, err := p.store.OpenFile(ctx, keyOf(sub), file.ID)
		if err != nil {
			return err
		}
		w, err := create(archive, fmt.Sprintf("files/%d/%d-%s/%s",
			sub.ID, i+1, forms.CleanFileName(file.FieldID), forms.CleanFileName(file.Name)))
		if err == nil {
			_, err = io.Copy(w, content)
		}
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
		f.files++
	}
	return err
}
