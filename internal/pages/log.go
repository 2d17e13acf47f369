package pages

import (
	"github.com/formulary/formulary/internal/markup"
)

// complain tells of paths that were not among those before: once, and not at
// every look.
func (d *Directory) complain(before map[string]bool, now []string, message, key string) map[string]bool {
	seen := make(map[string]bool, len(now))
	for _, path := range now {
		if seen[path] = true; !before[path] {
			d.tell(message, key, path)
		}
	}
	return seen
}

// toldInFull is how many errors of a kind a look logs one by one. A directory
// can hold any number of them.
const toldInFull = 20

// tell logs an error, unless this look had to log the same of many paths.
func (d *Directory) tell(message string, args ...any) {
	if d.told[message]++; d.told[message] <= toldInFull {
		d.log.Error(message, args...)
	}
}

// tellRest tells at the end of a look how many errors were not logged.
func (d *Directory) tellRest() {
	for message, times := range d.told {
		if times > toldInFull {
			d.log.Error(message, "more", times-toldInFull)
		}
	}
	clear(d.told)
}

// cannotRead tells of it once: it is tried again at every poll.
func (d *Directory) cannotRead(path string, f *file, err error) {
	if f.failure != err.Error() {
		f.failure = err.Error()
		d.tell("page can't be read", "file", path, "error", err)
	}
}

// tellProblems logs what is wrong on a page that was read.
func (d *Directory) tellProblems(path string, problems []markup.Problem) {
	for _, p := range problems {
		say := d.log.Warn
		if p.Severity == markup.Error {
			say = d.log.Error
		}
		args := []any{"file", path, "line", p.Line, "column", p.Column, "problem", p.Message}
		if p.Hint != "" {
			args = append(args, "hint", p.Hint)
		}
		say("page problem", args...)
	}
}

// tellBroken logs for each form that is broken in the file whether its last
// good definition is served. Page is what is served, nil for nothing.
func (d *Directory) tellBroken(path string, parsed *markup.Page, page *Page) {
	if page == nil {
		page = &Page{}
	}
	tell := func(message string, good bool, args ...any) {
		served := "no"
		if good {
			served = "last good definition"
		}
		d.tell(message, append([]any{"file", path, "page", parsed.ID, "served", served}, args...)...)
	}
	if parsed.Unreadable {
		tell("page is broken", len(page.Forms) > 0)
		return
	}
	for _, b := range parsed.Blocks {
		if b.Form == nil && b.FormID != "" {
			tell("form is broken", page.Form(b.FormID) != nil, "form", b.FormID)
		}
	}
	if len(page.nameless) > 0 && len(page.kept) == 0 {
		tell("form without an id is broken", false)
	}
	for _, f := range page.kept {
		tell("form without an id is broken; it may be this one", true, "form", f.ID)
	}
}
