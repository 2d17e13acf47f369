package cli

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
)

func (c *config) checkAuthors() (err error) {
	for i, name := range c.authors {
		name = strings.TrimSpace(name)
		c.authors[i] = name
		err = cmp.Or(err, refuse(name != service.Everybody && !markup.IsName(name),
			"--authors %q: use names of users, groups such as @hr, or *", name))
	}
	return err
}

// warnOfAuthors warns if authors can't save anything.
func warnOfAuthors(ctx context.Context, c *config, source pages.Source, log *slog.Logger) {
	if len(c.authors) == 0 {
		return
	}
	directory, ok := source.(*pages.Directory)
	if !ok {
		log.Warn("--authors has no effect: forms in a live wiki can't be saved from here yet")
		return
	}
	if err := directory.CheckWritable(ctx); err != nil {
		log.Warn("authors can't save forms: let the server write the folder of pages", "error", err)
	}
}
