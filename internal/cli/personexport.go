package cli

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/wiki"
)

// export writes a file beside the one that is asked for, which gets its name when it is complete.
func (p *person) export(ctx context.Context) error {
	if _, err := os.Lstat(p.file); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s is there already: choose a name that is free", p.file))
	}
	if p.directory != "" && !wiki.IsAddress(p.directory) {
		quiet := slog.New(slog.DiscardHandler)
		directory, err := configured(pages.OpenDirectory(p.directory, &markup.Options{}, quiet))
		if err != nil {
			return err
		}
		p.pages = directory
	}
	return durable.Write(p.file, nil, func(to *os.File) error { return p.exportTo(ctx, to) }, os.Link)
}

// exportTo reads each submission once, so that what is written of it agrees. An archive takes one file at a time: those
// of lines are written beside it first.
func (p *person) exportTo(ctx context.Context, to io.Writer) (err error) {
	p.archive = zip.NewWriter(to)
	for i := range p.lines {
		if p.lines[i], err = os.CreateTemp(filepath.Dir(p.file), ".*"); err != nil {
			return err
		}
		defer p.lines[i].Close()
		_ = os.Remove(p.lines[i].Name()) // so that nothing is left, however this ends
	}
	err = p.visit(ctx, "exporting", true, p.exportSubmission)
	if err == nil && len(p.found) == 0 {
		err = errors.New("no submission has this name: write it as submissions have it, in the same upper and lower case. " +
			"--erase --dry-run also finds it in changes to submissions of others, and in sessions")
	}
	for i, name := range []string{"submissions.ndjson", "history.ndjson"} {
		if err == nil {
			err = p.add(name, p.lines[i])
		}
	}
	return errors.Join(err, p.archive.Close())
}

// add adds a file to the archive.
func (p *person) add(name string, content io.ReadSeeker) error {
	w, err := p.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(w, content)
	}
	return err
}

// exportSubmission adds files as files/ID/N-FIELD/NAME. N makes names unique. An archive can't take back a file that
// goes while it is copied: the export fails then.
func (p *person) exportSubmission(ctx context.Context, f *foundForm, sub forms.Submission) error {
	form := lastForm(p.pages, sub)
	sub, steps, err := service.ReadHistory(ctx, p.store, form, sub, func() (forms.Submission, error) {
		stored, err := p.store.Get(ctx, keyOf(sub))
		if err != nil {
			return stored, err
		}
		return form.Current(stored)
	})
	if err == nil {
		err = p.writeLines(sub, steps)
	}
	if err != nil {
		return unlessGone(err)
	}
	f.Count++
	for i, file := range sub.Files {
		content, err := p.store.OpenFile(ctx, keyOf(sub), file.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil {
			f.files++
			err = errors.Join(p.add(fmt.Sprintf("files/%d/%d-%s/%s",
				sub.ID, i+1, forms.CleanFileName(file.FieldID), forms.CleanFileName(file.Name)), content), content.Close())
		}
		if err != nil {
			return fmt.Errorf("copy a file of submission %d, which may have gone meanwhile: run this again: %w", sub.ID, err)
		}
	}
	return nil
}

// writeLines writes a submission, and the changes that the person made to it, the oldest first.
func (p *person) writeLines(sub forms.Submission, steps []forms.Step) error {
	line, err := encode.AppendChanged(nil, sub)
	if err == nil {
		_, err = p.lines[0].Write(append(line, '\n'))
	}
	for _, s := range steps {
		if err == nil && s.Username == p.name {
			_, err = p.lines[1].Write(append(encode.Step(sub, s), '\n'))
		}
	}
	return err
}
