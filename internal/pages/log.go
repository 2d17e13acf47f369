package pages

import (
	"github.com/formulary/formulary/internal/markup"
)

// logNew logs an error for each path that was not among those before, so that a
// state that lasts is logged once. It returns the set of the paths.
func (d *Directory) logNew(before map[string]bool, now []string, message, key string) map[string]bool {
	seen := make(map[string]bool, len(now))
	for _, path := range now {
		if seen[path] = true; !before[path] {
			d.logError(message, key, path)
		}
	}
	return seen
}

// maxLogged is how many errors of a kind a load logs one by one. A directory
// can hold any number of them.
const maxLogged = 20

// logError logs an error, unless this load has logged the same message for many
// paths.
func (d *Directory) logError(message string, args ...any) {
	if d.errorCount[message]++; d.errorCount[message] <= maxLogged {
		d.log.Error(message, args...)
	}
}

// logRest logs at the end of a load how many errors were left out.
func (d *Directory) logRest() {
	for message, times := range d.errorCount {
		if times > maxLogged {
			d.log.Error(message, "more", times-maxLogged)
		}
	}
	clear(d.errorCount)
}

// logDiagnostics logs what is wrong on a page that was read.
func (d *Directory) logDiagnostics(path string, diagnostics []markup.Diagnostic) {
	for _, p := range diagnostics {
		write := d.log.Warn
		if p.Severity == markup.Error {
			write = d.log.Error
		}
		args := []any{"file", path, "line", p.Line, "column", p.Column, "problem", p.Message}
		if p.Hint != "" {
			args = append(args, "hint", p.Hint)
		}
		write("page problem", args...)
	}
}

// logBroken logs for each form that is broken in the file whether its last
// good definition is served. page is what is served, or nil.
func (d *Directory) logBroken(path string, parsed *markup.Page, page *Page) {
	if page == nil {
		page = &Page{}
	}
	logForm := func(message string, good bool, args ...any) {
		served := "no"
		if good {
			served = "last good definition"
		}
		d.logError(message, append([]any{"file", path, "page", parsed.ID, "served", served}, args...)...)
	}
	if parsed.Unreadable {
		logForm("page is broken", len(page.Forms) > 0)
		return
	}
	for _, b := range parsed.Blocks {
		if b.Form == nil && b.FormID != "" {
			logForm("form is broken", page.Form(b.FormID) != nil, "form", b.FormID)
		}
	}
	if len(page.nameless) > 0 && len(page.kept) == 0 {
		logForm("form without an id is broken", false)
	}
	for _, f := range page.kept {
		logForm("form without an id is broken; it may be this one", true, "form", f.ID)
	}
}
