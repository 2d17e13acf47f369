package pages

import (
	"log/slog"
	"slices"

	"github.com/formulary/formulary/internal/markup"
)

// logNew logs an error for each path that was not among those before, so that a
// state that lasts is logged once. It returns the set of the paths.
func (d *Directory) logNew(before map[string]bool, now []string, message, key string) map[string]bool {
	seen := make(map[string]bool, len(now))
	for _, path := range now {
		if seen[path] = true; !before[path] {
			d.log.Error(message, key, path)
		}
	}
	return seen
}

// logDiagnostics logs what is wrong on a page that was read. The log names the page.
func logDiagnostics(log *slog.Logger, diagnostics []markup.Diagnostic) {
	for _, q := range diagnostics {
		write := log.Warn
		if q.Severity == markup.Error {
			write = log.Error
		}
		args := []any{"line", q.Line, "column", q.Column, "problem", q.Message}
		if q.Hint != "" {
			args = append(args, "hint", q.Hint)
		}
		write("page problem", args...)
	}
}

// logBroken logs for each form that is broken on the page whether its last
// good definition is served. page is what is served, or nil.
func logBroken(log *slog.Logger, parsed *markup.Page, page *Page) {
	if page == nil {
		page = &Page{}
	}
	logForm := func(message string, good bool, args ...any) {
		served := "no"
		if good {
			served = "last good definition"
		}
		log.Error(message, append([]any{"page", parsed.ID, "served", served}, args...)...)
	}
	if parsed.Unreadable {
		logForm("page is broken", len(page.Forms) > 0)
		return
	}
	nameless := false
	for _, b := range parsed.Blocks {
		if b.Form == nil && b.FormID != "" {
			logForm("form is broken", page.Form(b.FormID) != nil, "form", b.FormID)
		}
		nameless = nameless || b.FormID == ""
	}
	if !nameless {
		return
	}
	logForm("form without an id is broken", false)
	for _, f := range page.Forms {
		if !slices.ContainsFunc(parsed.Blocks, func(b markup.Block) bool { return b.FormID == f.ID }) {
			logForm("form is not on the page, but may be the one without an id", true, "form", f.ID)
		}
	}
}
