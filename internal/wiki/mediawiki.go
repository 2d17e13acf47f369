package wiki

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/panics"
)

// mediaWiki is a MediaWiki, 1.35 or newer, asked by its action API. The base of its
// client is the address of api.php.
type mediaWiki struct {
	*client
	editAction string
	cookies    []string // names of the session cookies; none for those with the prefix
	// prefix begins the names of the wiki's cookies. It is "" if that of the session
	// cookie is an unusual one, and nil before it is known.
	prefix   atomic.Pointer[string]
	learning singleflight.Group // of the prefix
	title    atomic.Value       // string
	script   atomic.Value       // string: the address of index.php, as the wiki tells it
}

func newMediaWiki(c *client, opts Options) Wiki {
	return &mediaWiki{client: c, editAction: cmp.Or(opts.EditAction, "edit"), cookies: opts.Cookies}
}

const (
	mwMaxPageID = math.MaxUint32 // of MediaWiki's column
	mwMaxInfo   = 25             // pages per call: MediaWiki tests 50 rights, and there are two of each page
	mwMaxTexts  = 4              // that All fetches at a time
	mwMaxLists  = 4000           // of so many pages, for each namespace: 100,000
	wikitext    = "wikitext"
)

// mwAnswer has the parts of all answers that are used.
type mwAnswer struct {
	header http.Header
	Errors []struct {
		Code string `json:"code"`
	} `json:"errors"`
	Complete bool              `json:"batchcomplete"` // false if some pages lack their rights
	Continue map[string]string `json:"continue"`
	Query    struct {
		Tokens     map[string]string `json:"tokens"`
		SignIn     mwSignIn          `json:"authmanagerinfo"`
		User       mwUser            `json:"userinfo"`
		Pages      []mwPage          `json:"pages"`
		Namespaces map[string]any    `json:"namespaces"`
		General    struct {
			SiteName string `json:"sitename"`
			Server   string `json:"server"`
			Script   string `json:"script"`
		} `json:"general"`
	} `json:"query"`
	Login       mwLogin `json:"login"`
	ClientLogin mwLogin `json:"clientlogin"`
}

type mwUser struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Anon    bool   `json:"anon"`
	Temp    bool   `json:"temp"`         // an account that the wiki gave to somebody who has none
	Partial *bool  `json:"blockpartial"` // nil without a block
}

type mwPage struct {
	ID        int64           `json:"pageid"`
	Title     string          `json:"title"`
	Missing   bool            `json:"missing"`
	Model     string          `json:"contentmodel"`
	Version   int64           `json:"lastrevid"`
	Actions   map[string]bool `json:"actions"`
	Revisions []struct {
		ID    int64 `json:"revid"`
		Slots map[string]struct {
			Model   string  `json:"contentmodel"`
			Content *string `json:"content"` // nil if it is hidden
		} `json:"slots"`
	} `json:"revisions"`
}

// mwError is the code of an error that MediaWiki has answered with.
type mwError string

// closedWiki is the code for users who may read no page at all.
const closedWiki = "readapidenied"

func (e mwError) Error() string { return "error " + string(e) }

// isMWError reports whether MediaWiki has answered with one of these errors.
func isMWError(err error, codes ...mwError) bool {
	code, ok := errors.AsType[mwError](err)
	return ok && slices.Contains(codes, code)
}

var mwCode = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

// ask sends one call.
func (m *mediaWiki) ask(ctx context.Context, c call) (*mwAnswer, error) {
	c.query.Set("format", "json")
	c.query.Set("formatversion", "2")
	c.query.Set("errorformat", "raw") // no texts, and the seconds of a throttle
	raw, err := m.do(ctx, c)
	if err != nil {
		return nil, err
	}
	a := &mwAnswer{header: raw.header}
	if err := raw.decode(a); err != nil {
		return nil, err
	}
	if isQuery := c.form == nil; len(a.Errors) == 0 && raw.status == http.StatusOK && (a.Complete || !isQuery) {
		return a, nil
	}
	odd := raw.odd()
	if len(a.Errors) > 0 && mwCode.MatchString(a.Errors[0].Code) {
		odd.Err = mwError(a.Errors[0].Code)
	}
	return nil, odd
}

// query asks in a session. If the wiki has ended that, query renews it once.
func (m *mediaWiki) query(ctx context.Context, c Caller, params url.Values) (*mwAnswer, error) {
	if c.Ended() {
		return nil, ErrRefused
	}
	params.Set("action", "query")
	params.Set("assertuser", c.Name)
	used := c.authentication()
	a, err := m.ask(ctx, call{query: params, header: used, from: c.From})
	if !isMWError(err, "assertuserfailed", "assertnameduserfailed") {
		return a, err
	}
	if used, err = m.renew(ctx, c, used); err != nil {
		return nil, err
	}
	return m.ask(ctx, call{query: params, header: used, from: c.From})
}

// Pages implements Wiki.
func (m *mediaWiki) Pages(ctx context.Context, c Caller, ids ...int64) (map[int64]Page, error) {
	var asked []string
	for _, id := range ids {
		if id > 0 && id <= mwMaxPageID {
			asked = append(asked, strconv.FormatInt(id, 10))
		}
	}
	found := map[int64]Page{}
	for part := range slices.Chunk(asked, mwMaxInfo) {
		pages, _, err := m.info(ctx, c, url.Values{"pageids": {strings.Join(part, "|")}})
		if err != nil {
			return nil, err
		}
		for _, page := range pages {
			if slices.Contains(ids, page.ID) {
				found[page.ID] = page
			}
		}
	}
	return found, nil
}

// info returns those of some pages that the caller may read, and where a list of
// pages goes on.
func (m *mediaWiki) info(ctx context.Context, c Caller, params url.Values) (pages []Page, next string, err error) {
	params.Set("prop", "info")
	params.Set("intestactions", "read|"+m.editAction)
	params.Set("meta", "userinfo")
	params.Set("uiprop", "blockinfo")
	a, err := m.query(ctx, c, params)
	switch {
	case isMWError(err, closedWiki):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case a.Query.User.Name != c.Name:
		return nil, "", unavailablef("the answer is for another user")
	}
	for _, p := range a.Query.Pages {
		if !p.Missing && p.Actions["read"] {
			pages = append(pages, Page{
				ID: p.ID, Title: p.Title, Version: p.Version, Edit: p.Actions[m.editAction],
				Blocked: a.Query.User.Partial != nil && !*a.Query.User.Partial, HasText: p.Model == wikitext,
			})
		}
	}
	return pages, a.Continue["gapcontinue"], nil
}

// Text implements Wiki.
func (m *mediaWiki) Text(ctx context.Context, c Caller, id int64) (text Text, err error) {
	if id < 1 || id > mwMaxPageID {
		return text, ErrNoText
	}
	a, err := m.query(ctx, c, url.Values{
		"prop": {"revisions"}, "rvslots": {"main"}, "rvprop": {"ids|content|contentmodel"},
		"pageids": {strconv.FormatInt(id, 10)},
	})
	switch {
	case isMWError(err, closedWiki, "accessdenied"):
		return text, ErrNoText
	case err != nil:
		return text, err
	case len(a.Query.Pages) != 1 || a.Query.Pages[0].ID != id:
		return text, unavailablef("the answer is about another page")
	case a.Query.Pages[0].Missing:
		return text, ErrNoText
	case len(a.Query.Pages[0].Revisions) != 1:
		return text, unavailablef("the answer has no revision")
	}
	revision := a.Query.Pages[0].Revisions[0]
	if main := revision.Slots["main"]; main.Model == wikitext && main.Content != nil {
		return Text{Version: revision.ID, Source: []byte(*main.Content)}, nil
	}
	return text, ErrNoText
}

// All implements Wiki. The total is the number of pages so far.
func (m *mediaWiki) All(ctx context.Context, c Caller, visit func(Page, Text, int) error) error {
	a, err := m.query(ctx, c, url.Values{"meta": {"siteinfo"}, "siprop": {"namespaces"}})
	if err != nil {
		return err
	}
	total := 0
	for _, space := range slices.Sorted(maps.Keys(a.Query.Namespaces)) {
		if strings.HasPrefix(space, "-") {
			continue // it has no pages that are stored
		}
		err := m.list(ctx, c, space, func(pages []Page) error {
			total += len(pages)
			return m.visit(ctx, c, pages, func(p Page, t Text) error { return visit(p, t, total) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// list calls visit with the pages of a namespace that the caller may read and that
// can contain forms.
func (m *mediaWiki) list(ctx context.Context, c Caller, space string, visit func([]Page) error) error {
	params := url.Values{"generator": {"allpages"}, "gapnamespace": {space}, "gaplimit": {strconv.Itoa(mwMaxInfo)}}
	for range mwMaxLists {
		pages, next, err := m.info(ctx, c, params)
		if err == nil {
			err = visit(slices.DeleteFunc(pages, func(p Page) bool { return !p.HasText }))
		}
		if err != nil || next == "" {
			return err
		}
		if next == params.Get("gapcontinue") { // a broken wiki may send us in circles
			break
		}
		params.Set("gapcontinue", next)
	}
	return unavailablef("the list of pages does not end")
}

// visit calls visit with those of the pages that have a text.
func (m *mediaWiki) visit(ctx context.Context, c Caller, pages []Page, visit func(Page, Text) error) error {
	for part := range slices.Chunk(pages, mwMaxTexts) {
		var texts [mwMaxTexts]Text
		var errs [mwMaxTexts]error
		var calls sync.WaitGroup
		for i, page := range part {
			calls.Go(func() {
				errs[i] = panics.ToError(func() (err error) {
					texts[i], err = m.Text(ctx, c, page.ID)
					return err
				})
			})
		}
		calls.Wait()
		for i, page := range part {
			if errors.Is(errs[i], ErrNoText) {
				continue
			}
			if err := errs[i]; err != nil {
				return err
			}
			if err := visit(page, texts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Ready implements Wiki. It learns the title by the way.
func (m *mediaWiki) Ready(ctx context.Context) error {
	a, err := m.ask(ctx, call{query: url.Values{"action": {"query"}, "meta": {"siteinfo"}}})
	if isMWError(err, closedWiki) { // it keeps its title to its users
		a, err = &mwAnswer{}, nil
	}
	if err != nil {
		return err
	}
	if title := a.Query.General.SiteName; len(title) <= maxUserName {
		m.title.Store(title)
	}
	m.script.Store(a.Query.General.Server + a.Query.General.Script)
	return nil
}

// SignInURL implements Wiki.
func (m *mediaWiki) SignInURL(pageID int64) string {
	script, _ := m.script.Load().(string)
	if script == "" {
		script = strings.TrimSuffix(m.base.String(), "api.php") + "index.php"
	}
	query := url.Values{"title": {"Special:UserLogin"}}
	if pageID != 0 {
		query.Set("returnto", "Special:Redirect/page/"+strconv.FormatInt(pageID, 10))
	}
	return script + "?" + query.Encode()
}

// Title implements Wiki.
func (m *mediaWiki) Title() string {
	title, _ := m.title.Load().(string)
	return title
}

// Run implements Wiki.
func (m *mediaWiki) Run(ctx context.Context) {
	go m.client.Run(ctx)
	for m.Ready(ctx) != nil {
		select {
		case <-time.After(callTimeout):
		case <-ctx.Done():
			return
		}
	}
}
