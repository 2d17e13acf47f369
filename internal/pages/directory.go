package pages

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/watch"
)

// Directory is a Source over a directory of page files.
type Directory struct {
	root string
	log  *slog.Logger
	now  func() time.Time
	find func(root string, enter func(dir string)) (listing, error)
	load func(path string) ([]byte, readVersion, error)

	newEvents func() (*watch.Events, error)

	looking    sync.Mutex        // guards what follows: one look at a time
	files      map[string]*file  // by path
	owners     map[int64]string  // the file that each page is read from
	ignored    map[string]string // files whose page is read from another: that one
	unreadable map[string]bool   // folders, as of the last look
	irregular  map[string]bool   // what has a page's name and is no regular file, as of the last look
	errorCount map[string]int    // by message: how many errors this look met

	events    *watch.Events            // nil while pages are polled
	unwatched map[string]watch.Version // what changes without an event, as of the last look
	unsettled bool                     // the last look left something for the next one
	lookedAt  time.Time                // the last look

	current atomic.Pointer[snapshot]
	failure atomic.Pointer[error]     // of the last look at the directory; nil when it went well
	began   atomic.Pointer[time.Time] // the last look
	stuck   atomic.Bool               // it does not end
}

var _ Source = (*Directory)(nil)

// snapshot is what is served. It is replaced, never changed.
type snapshot struct {
	pages  map[int64]*Page
	counts Counts
}

// OpenDirectory reads all pages below root. What is wrong with them is logged;
// only a directory that can't be read is an error.
func OpenDirectory(root string, log *slog.Logger) (*Directory, error) {
	return openDirectory(root, log, time.Now)
}

func openDirectory(root string, log *slog.Logger, now func() time.Time) (*Directory, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open pages: %s is not a directory", root)
	}
	d := &Directory{
		root: root, log: log, now: now, find: list, load: readLimited, newEvents: watch.NewEvents,
		files: map[string]*file{}, errorCount: map[string]int{},
	}
	d.current.Store(&snapshot{})
	if err := d.look(true); err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	if len(d.files)+len(d.unreadable)+len(d.irregular) == 0 {
		log.Warn("the directory holds no page file: names end in "+markup.Extensions, "directory", root)
	}
	return d, nil
}

// Page implements Source.
func (d *Directory) Page(_ context.Context, id int64) (*Page, error) {
	if p := d.current.Load().pages[id]; p != nil {
		return p, nil
	}
	return nil, ErrNotFound
}

// List implements Source.
func (d *Directory) List(context.Context) ([]*Page, error) {
	list := slices.Collect(maps.Values(d.current.Load().pages))
	slices.SortFunc(list, func(a, b *Page) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Rights implements Source. The rights are those of the very pages that are
// given, even where they have been edited since.
func (d *Directory) Rights(_ context.Context, user User, pages ...*Page) ([]Rights, error) {
	list := make([]Rights, len(pages))
	for i, p := range pages {
		list[i] = rightsOf(&p.meta, user)
	}
	return list, nil
}

// Ready implements Source.
func (d *Directory) Ready(context.Context) error {
	if d.stuck.Load() {
		return fmt.Errorf("%w: looking at %s has been stuck for %.0f seconds", ErrUnavailable, d.root, d.now().Sub(*d.began.Load()).Seconds())
	}
	if err := d.failure.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, *err)
	}
	return nil
}

// Counts implements Source.
func (d *Directory) Counts() Counts { return d.current.Load().counts }

// Poll looks at the directory once. When it can't be read the pages stay as
// they are: a volume that does not answer is no reason to forget every form.
func (d *Directory) Poll() {
	d.looking.Lock()
	defer d.looking.Unlock()
	d.lookOnce(false)
}

// Reload implements Source. It does not run while Poll does.
func (d *Directory) Reload(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.looking.Lock()
		defer d.looking.Unlock()
		d.lookOnce(true)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (d *Directory) lookOnce(atOnce bool) {
	err := d.look(atOnce)
	before := d.failure.Load()
	if err != nil {
		d.failure.Store(&err)
		if before == nil {
			d.log.Error("pages can't be read; the last known ones stay in force", "directory", d.root, "error", err)
		}
		return
	}
	d.failure.Store(nil)
	if before != nil {
		d.log.Info("pages can be read again", "directory", d.root)
	}
}
