package pages

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/reload"
)

// Directory is a Source over a directory of page files.
type Directory struct {
	KeepQueue

	root    string
	log     *slog.Logger
	options *markup.Options
	watcher *reload.Watcher

	// The watcher calls look and load one at a time. They alone use what follows.
	files      map[string]*file  // by path
	owners     map[int64]string  // the file that each page is read from
	ignored    map[string]string // files whose page is read from another: that one
	unreadable map[string]bool   // folders, as of the last load
	irregular  map[string]bool   // what has a page's name and is no regular file, as of the last load
	unknown    map[string]bool   // users and groups on pages that the server does not know, each with its hint

	current atomic.Pointer[snapshot]
	failure atomic.Pointer[error] // the directory can't be listed
}

// snapshot is what is served. It is replaced, never changed.
type snapshot struct {
	pages   map[int64]*Page
	counts  Counts
	owners  map[int64]string // as in Directory
	ignored map[string]string
}

// OpenDirectory reads all pages below root. What is wrong with them is logged;
// only a directory that can't be read is an error. options are as for
// markup.Parse.
func OpenDirectory(root string, options *markup.Options, log *slog.Logger) (*Directory, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open pages: %s is not a directory", root)
	}
	d := &Directory{root: root, log: log, options: options, files: map[string]*file{}}
	d.watcher = reload.New("pages", log, d.look, d.load)
	d.current.Store(&snapshot{})
	if err := d.load(d.look(), true); d.failure.Load() != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	if len(d.files)+len(d.unreadable)+len(d.irregular) == 0 {
		log.Warn("the directory holds no page file: names end in "+markup.Extensions, "directory", root)
	}
	return d, nil
}

// Page implements Source.
func (d *Directory) Page(_ context.Context, user User, id int64) (View, error) {
	if p := d.current.Load().pages[id]; p != nil {
		if rights := rightsOf(&p.meta, user); rights.View {
			return View{p, rights}, nil
		}
	}
	return View{}, ErrNotFound
}

// List implements Source.
func (d *Directory) List(_ context.Context, user User) ([]View, error) {
	var list []View
	for _, p := range d.current.Load().pages {
		if rights := rightsOf(&p.meta, user); rights.View && len(p.Forms) > 0 {
			list = append(list, View{p, rights})
		}
	}
	slices.SortFunc(list, func(a, b View) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// LastKnown implements Source.
func (d *Directory) LastKnown(id int64) *Page { return d.current.Load().pages[id] }

// Ready implements Source.
func (d *Directory) Ready(context.Context) error {
	err := d.watcher.Ready()
	if failure := d.failure.Load(); failure != nil {
		err = *failure
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Counts returns how much is being served.
func (d *Directory) Counts() Counts { return d.current.Load().counts }

// Reload implements Source.
func (d *Directory) Reload(ctx context.Context) { d.watcher.Reload(ctx) }

// Run implements Source.
func (d *Directory) Run(ctx context.Context) { d.watcher.Run(ctx) }
