package service

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Person exports or erases the stored data about a person.
type Person struct {
	*Service
	Name     string // in submissions
	DryRun   bool   // of an erasure
	Sessions interface {
		Count(ctx context.Context, user string) (int, error)
		SignOutUser(ctx context.Context, user string) error
	} // to be ended by an erasure; nil if there were never any
	// AppendSubmission and Step write a line of an export.
	AppendSubmission func([]byte, forms.Submission) ([]byte, error)
	Step             func(forms.Submission, forms.Step) []byte
	Show             func(stage, unit string, done, total int64) // how far it is

	archive *zip.Writer // of an export
	lines   [2]*os.File // of submissions, and of changes to them
}

// PersonalData is how much is stored about a person.
type PersonalData struct {
	Forms    []PersonalForm
	Sessions int
}

// PersonalForm is how much a form has of a person.
type PersonalForm struct {
	store.FormCount     // their submissions
	Files, Changes  int // files of these, and submissions of others that they changed
}

// ErrNoSubmissions says that there is nothing to export.
var ErrNoSubmissions = errors.New("no submission has this name")

// visit calls do for the submissions of a user, or all if user is nil.
func (p *Person) visit(
	ctx context.Context, stage string, user *string, do func(context.Context, *PersonalForm, forms.Submission) error,
) (found []PersonalForm, err error) {
	stored, err := p.opts.Store.CountForms(ctx, 0, 1)
	for i, form := range stored {
		form.Count = 0 // of others, too
		of := PersonalForm{FormCount: form}
		q := store.Query{PageID: form.PageID, FormID: form.FormID, Username: user, Changes: true}
		var sub forms.Submission
		for sub, err = range p.opts.Store.Scan(ctx, q) {
			if err == nil {
				err = do(ctx, &of, sub)
			}
			if err != nil {
				break
			}
		}
		if of.Count+of.Changes > 0 {
			found = append(found, of)
		}
		if err != nil {
			return found, err
		}
		p.Show(stage, "forms", int64(i+1), int64(len(stored)))
	}
	return found, err
}

// Erase deletes the submissions of the person, and removes their name from changes to others. A dry run only counts.
// It begins with the sessions, so that the person does not go on, and ends with what an earlier run has left of
// deleted submissions. If it is interrupted, it returns what it has erased, too.
func (p *Person) Erase(ctx context.Context) (*PersonalData, error) {
	var found PersonalData
	var err error
	if p.Sessions != nil {
		found.Sessions, err = p.Sessions.Count(ctx, p.Name)
		if err == nil && !p.DryRun {
			err = p.Sessions.SignOutUser(ctx, p.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	stage := "erasing"
	if p.DryRun {
		stage = "searching"
	}
	found.Forms, err = p.visit(ctx, stage, nil, p.eraseFrom)
	if err == nil && !p.DryRun {
		err = p.opts.Files.Purge(ctx)
	}
	return &found, err
}

// eraseFrom deletes a submission of the person, or removes their name from another.
func (p *Person) eraseFrom(ctx context.Context, of *PersonalForm, sub forms.Submission) error {
	key := keyOf(sub)
	if sub.Username == p.Name {
		sub, err := p.opts.Store.Get(ctx, key) // with its files
		if err == nil && !p.DryRun {
			err = p.remove(ctx, key, false, nil)
		}
		if err == nil {
			of.Count, of.Files = of.Count+1, of.Files+len(sub.Files)
		}
		return unlessGone(err)
	}
	if !sub.IsChanged() {
		return nil
	}
	steps, err := p.opts.Store.History(ctx, sub.ID)
	made := func(step store.Step) bool { return step.Username == p.Name }
	if err != nil || sub.Changer != p.Name && !slices.ContainsFunc(steps, made) {
		return err
	}
	of.Changes++
	if p.DryRun {
		return nil
	}
	return p.opts.Store.RemoveName(ctx, key, p.Name)
}

// unlessGone passes over what was deleted meanwhile.
func unlessGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Export writes a new ZIP file. It gets its name when it is complete.
func (p *Person) Export(ctx context.Context, file string) (*PersonalData, error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(err, fmt.Errorf("%s is there already: choose a name that is free", file))
	}
	var found PersonalData
	err := durable.Write(file, nil, func(to *os.File) (err error) {
		p.archive = zip.NewWriter(to)
		found.Forms, err = p.write(ctx, filepath.Dir(file))
		return errors.Join(err, p.archive.Close())
	}, os.Link)
	return &found, err
}

// write reads each submission once, so that its lines and files agree. An archive takes one file at a time: lines are
// written to files in dir first.
func (p *Person) write(ctx context.Context, dir string) (found []PersonalForm, err error) {
	for i := range p.lines {
		if p.lines[i], err = os.CreateTemp(dir, ".*"); err != nil {
			return nil, err
		}
		defer p.lines[i].Close()
		_ = os.Remove(p.lines[i].Name()) // so that nothing is left, however this ends
	}
	found, err = p.visit(ctx, "exporting", &p.Name, p.exportSubmission)
	if err == nil && len(found) == 0 {
		err = ErrNoSubmissions
	}
	for i, name := range []string{"submissions.ndjson", "history.ndjson"} {
		if err == nil {
			err = p.add(name, io.NewSectionReader(p.lines[i], 0, math.MaxInt64))
		}
	}
	return found, err
}

// add adds a file to the archive.
func (p *Person) add(name string, content io.Reader) error {
	w, err := p.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = io.Copy(w, content)
	}
	return err
}

// exportSubmission adds files as files/ID/N-FIELD/NAME. N makes names unique. An archive can't take back a file that
// goes while it is copied: the export fails then.
func (p *Person) exportSubmission(ctx context.Context, of *PersonalForm, sub forms.Submission) error {
	form := p.lastForm(sub)
	sub, steps, err := p.readHistory(ctx, form, sub, func() (forms.Submission, error) {
		stored, err := p.opts.Store.Get(ctx, keyOf(sub))
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
	of.Count++
	for i, file := range sub.Files {
		content, err := p.opts.Files.OpenFile(ctx, keyOf(sub), file.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil {
			of.Files++
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
func (p *Person) writeLines(sub forms.Submission, steps []forms.Step) error {
	line, err := p.AppendSubmission(nil, sub)
	if err == nil {
		_, err = p.lines[0].Write(append(line, '\n'))
	}
	for _, s := range steps {
		if err == nil && s.Username == p.Name {
			_, err = p.lines[1].Write(append(p.Step(sub, s), '\n'))
		}
	}
	return err
}
