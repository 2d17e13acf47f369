package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/limit"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/wiki"
)

const (
	// versionAge is how long a page is served before the wiki is asked for its
	// version again. A page that was not there is looked for again after it, too.
	versionAge = 5 * time.Second
	// maxVersionWait is how long a request waits for that, or for the text of a newer
	// version, while an older one can be served.
	maxVersionWait = time.Second
	// readyAge is how long the answer of Ready counts.
	readyAge = time.Second
	// maxRights bounds the cache of rights to some ten megabytes.
	maxRights = 1 << 17
	// maxPagesBytes bounds the cache of pages.
	maxPagesBytes = 32 << 20
	// maxListed is how many pages are listed: those that are used most, then those that were read last before the start.
	maxListed = 100
)

// WikiOptions configure a Wiki.
type WikiOptions struct {
	Wiki    wiki.Wiki
	Format  markup.Format   // of its pages
	Recheck time.Duration   // how long rights count
	Options *markup.Options // as for markup.Parse
	Memory  Memory          // of pages that were read before; nil for none
	Logger  *slog.Logger
	Now     func() time.Time // nil is time.Now
}

// Wiki is a Source over a live wiki. Each user asks with their own session, so that
// the wiki itself decides what they may do. Rights are remembered for a short
// while, and forms until the wiki has another version of their page.
type Wiki struct {
	KeepQueue
	WikiOptions

	versionAge time.Duration

	rights *otter.Cache[rightsKey, knownRights]
	pages  *otter.Cache[int64, *wikiPage]

	calls  *limit.Limiter     // by user
	looks  singleflight.Group // for rights and versions, by session and page
	checks singleflight.Group // for versions, by page
	texts  singleflight.Group // by page
	behind singleflight.Group // for pages that are not read on request: one at a time, for one user

	// checkAfter is when versions of pages may be looked at again, in Unix nanoseconds:
	// the wiki is slow, or fails.
	checkAfter atomic.Int64

	readyMu  sync.Mutex
	readyAt  time.Time
	readyErr error
}

// rightsKey has the session, not the user: a bot password has fewer rights than its
// user.
type rightsKey struct {
	session uint64
	page    int64
}

// knownRights is what the wiki has answered about one session and page.
type knownRights struct {
	Rights
	at time.Time // when the wiki was asked
}

// wikiPage is a page as it is served. It is replaced, never changed.
type wikiPage struct {
	*Page
	size    int // about how much memory it takes
	version int64
	asked   time.Time // when the call began that gave the version
}

// NewWiki makes a source of a wiki. It asks nothing yet.
func NewWiki(opts WikiOptions) *Wiki {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Wiki{
		WikiOptions: opts, versionAge: min(versionAge, opts.Recheck),
		rights: otter.Must(&otter.Options[rightsKey, knownRights]{MaximumSize: maxRights}),
		pages: otter.Must(&otter.Options[int64, *wikiPage]{
			MaximumWeight: maxPagesBytes, Weigher: func(_ int64, p *wikiPage) uint32 {
				return uint32(min(p.size, maxPagesBytes)) //nolint:gosec // it fits
			},
		}),
		calls: limit.New(limit.Options{
			Total: 1024, PerKey: 4, Wait: 5 * time.Second,
			Busy: ErrBusy, Overloaded: ErrUnavailable, Stuck: ErrUnavailable,
		}),
	}
}

// sizeOf is about how much memory a page takes.
func sizeOf(p *Page) int {
	size := 4<<10 + len(p.Diagnostics)<<10 + p.Text.Size()
	for _, f := range p.Forms {
		size += markup.DefinitionSize(f)
	}
	for _, b := range p.Blocks {
		size += len(b.Text)
	}
	return size
}

// Page implements Source.
func (w *Wiki) Page(ctx context.Context, user User, id int64) (View, error) {
	if id <= 0 || user.Wiki.Session == nil {
		return View{}, ErrNotFound
	}
	found, state := w.known(user.Wiki, id)
	if state == outdated {
		w.awaitCheck(ctx, user.Wiki, id)
		found, state = w.known(user.Wiki, id)
	}
	if state == unknown {
		var err error
		if found, err = w.look(ctx, user.Wiki, id, false); err != nil {
			return View{}, err
		}
	}
	if found.page == nil || !found.View {
		return View{}, ErrNotFound
	}
	return View{found.page.Page, found.Rights}, nil
}

// What is known of a page for one session.
const (
	unknown  = iota // the wiki has to be asked
	outdated        // the rights count, but the page may have another version
	current
)

func (w *Wiki) known(c wiki.Caller, id int64) (f found, state int) {
	rights, ok := w.knownRights(c, id)
	page, _ := w.pages.GetIfPresent(id)
	switch {
	case !ok || rights.View && page == nil:
		state = unknown
	case rights.View && w.Now().Sub(page.asked) >= w.versionAge:
		state = outdated
	default:
		state = current
	}
	return found{rights, page}, state
}

// knownRights returns rights that still count. That there are none counts for a
// shorter while: the page may be created or restored.
func (w *Wiki) knownRights(c wiki.Caller, id int64) (knownRights, bool) {
	r, ok := w.rights.GetIfPresent(rightsKey{c.ID, id})
	age := w.Recheck
	if !r.View {
		age = w.versionAge
	}
	return r, ok && w.Now().Sub(r.at) < age
}

// found is what the wiki has told about one session and page.
type found struct {
	knownRights
	page *wikiPage // nil if it is not there; the cache may not have it any more
}

// look asks the wiki for rights and version, and has the text of a new version read.
// Concurrent callers with one session share a call. It holds one of the user's slots as
// long as the wiki is at work, also if the caller goes away, unless the caller holds one.
func (w *Wiki) look(ctx context.Context, c wiki.Caller, id int64, held bool) (found, error) {
	key := strconv.FormatUint(c.ID, 36) + "/" + strconv.FormatInt(id, 36)
	return wiki.Coalesce(ctx, &w.looks, key, func(ctx context.Context) (found, error) {
		if found, state := w.known(c, id); state == current {
			return found, nil // since another call that has just ended
		}
		if !held {
			release, err := w.calls.Acquire(ctx, c.Name)
			if err != nil {
				return found{}, err
			}
			defer release()
		}
		asked := w.Now()
		told, err := w.Wiki.Pages(ctx, c, id)
		if err != nil {
			return found{}, explain(err)
		}
		var page *wikiPage
		info, there := told[id]
		if there {
			page, err = w.update(ctx, c, info, asked)
		}
		if errors.Is(err, ErrNotFound) {
			there, err = false, nil
		}
		if err != nil {
			return found{}, err
		}
		return found{w.remember(c, id, info, there, asked), page}, nil
	})
}

// remember stores the rights that the wiki has told, and returns those that it has told last.
func (w *Wiki) remember(c wiki.Caller, id int64, page wiki.Page, there bool, asked time.Time) knownRights {
	r := knownRights{at: asked}
	if there {
		edit := page.Edit && !page.Blocked
		r.Rights = Rights{View: true, SeeAll: edit, Edit: edit, Blocked: page.Blocked}
	}
	key := rightsKey{c.ID, id}
	if later, ok := w.rights.GetIfPresent(key); ok && !later.at.Before(asked) {
		return later
	}
	w.rights.Set(key, r)
	return r
}

// explain gives errors of the wiki their kind. Nothing but ErrRefused is the fault of
// the user.
func explain(err error) error {
	if errors.Is(err, wiki.ErrRefused) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// awaitCheck has the version of a page looked at, and waits for that a second at
// most: the page that is known is served otherwise. After a failure, or when it took
// longer, the wiki is left alone for a while.
func (w *Wiki) awaitCheck(ctx context.Context, c wiki.Caller, id int64) {
	if w.Now().UnixNano() < w.checkAfter.Load() {
		return
	}
	flight := w.checks.DoChan(strconv.FormatInt(id, 36), panics.Guarded(func() (any, error) {
		release, err := w.calls.TryAcquire(ctx, c.Name)
		if err != nil {
			return nil, err // the caller asks for much: others check the version
		}
		defer release()
		_, err = w.look(context.WithoutCancel(ctx), c, id, true)
		if err != nil && !errors.Is(err, wiki.ErrRefused) { // that is about this caller
			w.postponeChecks()
		}
		return nil, err
	}))
	patience := time.NewTimer(maxVersionWait)
	defer patience.Stop()
	select {
	case <-flight:
	case <-patience.C:
		w.postponeChecks()
	case <-ctx.Done():
	}
}

func (w *Wiki) postponeChecks() { w.checkAfter.Store(w.Now().Add(w.versionAge).UnixNano()) }

// update has the page served in the version that the wiki has told, and returns it. If the
// text can't be had in time and an older version is served, that stays.
func (w *Wiki) update(ctx context.Context, c wiki.Caller, page wiki.Page, asked time.Time) (*wikiPage, error) {
	old, _ := w.pages.GetIfPresent(page.ID)
	switch {
	case old != nil && old.asked.After(asked):
		return old, nil // a later answer is known
	case old != nil && old.version == page.Version && old.Title == page.Title:
		same := *old
		same.asked = asked
		w.pages.Set(page.ID, &same)
		return &same, nil
	}
	own := false
	flight := w.texts.DoChan(strconv.FormatInt(page.ID, 36), panics.Guarded(func() (any, error) {
		own = true
		if now, ok := w.pages.GetIfPresent(page.ID); ok && now.version == page.Version && now.Title == page.Title {
			return now, nil // since another flight that has just ended
		}
		return w.readText(ctx, c, page, old, asked)
	}))
	var patience <-chan time.Time
	if old != nil {
		patience = time.After(maxVersionWait)
	}
	select {
	case r := <-flight:
		next, _ := r.Val.(*wikiPage)
		switch isUnavailable := errors.Is(r.Err, ErrUnavailable); {
		case r.Err == nil:
			return next, nil
		case !own && !isUnavailable: // that is about another caller
			return w.update(ctx, c, page, asked)
		case old == nil || !isUnavailable:
			return nil, r.Err
		}
		w.Logger.Warn("page has a newer version that can't be read; the last known one stays in force",
			"page", page.ID, "error", r.Err)
	case <-patience:
	}
	return old, nil
}

// readText reads a new version of a page, and serves it.
func (w *Wiki) readText(
	ctx context.Context, c wiki.Caller, page wiki.Page, old *wikiPage, asked time.Time,
) (*wikiPage, error) {
	text, err := wiki.Text{Version: page.Version}, error(nil)
	if page.HasText {
		text, err = w.Wiki.Text(ctx, c, page.ID)
	}
	if errors.Is(err, wiki.ErrNoText) { // deleted, or closed to the user, since the version was told
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, explain(err)
	}
	var before *Page
	if old != nil {
		before = old.Page
	}
	parsed := markup.ParseBody(w.Format, page.ID, text.Source, w.Options)
	nameForms(&parsed, page.Title)
	next := &wikiPage{Page: renew(before, &parsed, page.Title), version: text.Version, asked: asked}
	if next.Page == nil { // nothing of it can be read, and its editors are told why
		next.Page = &Page{ID: page.ID, Title: page.Title, Diagnostics: parsed.Diagnostics}
	}
	if len(next.Forms) == 0 && next.Text != nil { // the text is for those who fill in a form
		hasBlock := func(part markup.TextPart) bool { return part.Block != nil }
		next.Text = &markup.Text{Parts: slices.DeleteFunc(next.Text.Parts, hasBlock)}
	}
	next.InWiki, next.size = true, sizeOf(next.Page)
	w.AddKeeps(nil, next.Page)
	w.pages.Set(page.ID, next)
	if w.Memory != nil {
		ctx := context.WithoutCancel(ctx)
		go func() {
			if err := panics.ToError(func() error { return w.setOutline(ctx, next.Page) }); err != nil {
				w.Logger.Warn("a page can't be remembered for the list of forms after a restart", "page", page.ID, "error", err)
			}
		}()
	}
	log := w.Logger.With("title", page.Title)
	logDiagnostics(log.With("page", page.ID), parsed.Diagnostics)
	logBroken(log, &parsed, next.Page)
	return next, nil
}

// List implements Source. Pages that were not read since the start are read behind it, for the next one.
func (w *Wiki) List(ctx context.Context, user User) ([]View, error) {
	if user.Wiki.Session == nil {
		return nil, nil
	}
	var list []*wikiPage
	for entry := range w.pages.Hottest() {
		if len(entry.Value.Forms) > 0 {
			list = append(list, entry.Value)
		}
		if len(list) == maxListed {
			break
		}
	}
	outlines, err := w.outlines(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, outlines[:min(len(outlines), maxListed-len(list))]...)
	rights, err := w.rightsOn(ctx, user.Wiki, list)
	if err != nil {
		return nil, err
	}
	var views []View
	var unread []int64
	for _, page := range list {
		if r := rights[page.ID]; r.View {
			views = append(views, View{page.Page, r.Rights})
			if page.IsOutline {
				unread = append(unread, page.ID)
			}
		}
	}
	if unread != nil {
		w.behind.DoChan("", func() (any, error) {
			if err := panics.ToError(func() error { return w.readAll(ctx, user, unread) }); err != nil {
				w.Logger.Warn("pages can't be read behind a list; the next list tries again", "error", err)
			}
			return unread, nil // nobody waits for it
		})
	}
	slices.SortFunc(views, func(a, b View) int { return cmp.Compare(a.ID, b.ID) })
	return views, nil
}

// rightsOn returns the rights on pages. It asks for those that are not known, many at
// once. Answers of this call count even if the wiki was slow. Cached rights may expire
// meanwhile, so it loops until all are known.
func (w *Wiki) rightsOn(ctx context.Context, c wiki.Caller, list []*wikiPage) (map[int64]knownRights, error) {
	told, held := map[int64]knownRights{}, false
	for {
		rights := maps.Clone(told)
		var ids []int64
		for _, page := range list {
			if _, isTold := told[page.ID]; isTold {
				continue
			}
			if r, known := w.knownRights(c, page.ID); known {
				rights[page.ID] = r
			} else {
				ids = append(ids, page.ID)
			}
		}
		if len(ids) == 0 {
			return rights, nil
		}
		if !held {
			release, err := w.calls.Acquire(ctx, c.Name)
			if err != nil {
				return nil, err
			}
			defer release()
			held = true
			continue // other calls may have told the rights
		}
		for batch := range slices.Chunk(ids, wiki.MaxPages) {
			asked := w.Now()
			found, err := w.Wiki.Pages(ctx, c, batch...)
			if err != nil {
				return nil, explain(err)
			}
			for _, id := range batch {
				page, there := found[id]
				told[id] = w.remember(c, id, page, there, asked)
			}
		}
	}
}

// LastKnown implements Source.
func (w *Wiki) LastKnown(id int64) *Page {
	if page, ok := w.pages.GetIfPresent(id); ok {
		return page.Page
	}
	return nil
}

// Ready implements Source. Everybody may ask, so that the answer counts for a
// second.
func (w *Wiki) Ready(ctx context.Context) error {
	w.readyMu.Lock()
	defer w.readyMu.Unlock()
	if w.Now().Sub(w.readyAt) >= readyAge {
		err := w.Wiki.Ready(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, cmp.Or(err, ctx.Err()))
		}
		w.readyAt, w.readyErr = w.Now(), err
	}
	if w.readyErr != nil {
		return explain(w.readyErr)
	}
	return nil
}

// Reload implements Source. The wiki is asked for everything again, when it is
// needed.
func (w *Wiki) Reload(ctx context.Context) {
	w.rights.InvalidateAll()
	w.Wiki.Reload(ctx)
}

// Run implements Source. Pages are looked at when they are asked for.
func (w *Wiki) Run(ctx context.Context) { w.Wiki.Run(ctx) }
