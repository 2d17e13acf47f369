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
	log = log.With("page", parsed.ID)
	served := map[bool]string{true: "last good definition", false: "no"}
	if parsed.Unreadable {
		log.Error("page is broken", "served", served[len(page.Forms) > 0])
		return
	}
	nameless := false
	for _, b := range parsed.Blocks {
		if b.Form == nil && b.FormID != "" {
			log.Error("form is broken", "served", served[page.Form(b.FormID) != nil], "form", b.FormID)
		}
		nameless = nameless || b.FormID == ""
	}
	if !nameless {
		return
	}
	log.Error("form without an id is broken", "served", served[false])
	for _, f := range page.Forms {
		if !slices.ContainsFunc(parsed.Blocks, func(b markup.Block) bool { return b.FormID == f.ID }) {
			log.Error("form is not on the page, but may be the one without an id", "served", served[true], "form", f.ID)
		}
	}
}
