package pages_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/confluencetest"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// confluence is a Confluence as the suite writes it.
type confluence struct {
	*confluencetest.Server
	t      *testing.T
	cloud  bool
	client wiki.Wiki
}

func newConfluence(t *testing.T, cloud bool) *confluence {
	t.Helper()
	c := &confluence{Server: confluencetest.New(t, cloud), t: t, cloud: cloud}
	for name, groups := range map[string][]string{"ann": nil, "bob": nil, "sara": {"staff"}} {
		c.AddUser(confluencetest.User{Name: name, Password: "password", Token: "token-of-" + name, Email: name + "@example.org", Groups: groups})
	}
	var err error
	if c.client, err = wiki.Open(wiki.Options{Address: c.Address(), Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *confluence) Write(p pagestest.Page) int64 {
	var b strings.Builder
	for _, id := range p.Forms {
		fmt.Fprintf(&b, "<ac:structured-macro ac:name=\"code\"><ac:plain-text-body><![CDATA[form: %s\nfields:\n  - {id: f, type: textfield, label: F}\n]]></ac:plain-text-body></ac:structured-macro>", id)
	}
	return c.Server.Write(confluencetest.Page{ID: p.ID, Title: p.Title, Text: b.String(), View: p.View, Edit: p.Edit})
}

func (c *confluence) Away(away bool) {
	if away {
		c.Stop()
	} else {
		c.Restart()
	}
}

func (c *confluence) User(name string) pages.User {
	credential := wiki.Credential{User: name, Password: "password"}
	if c.cloud {
		credential = wiki.Credential{User: name + "@example.org", Password: "token-of-" + name}
	}
	session, err := c.client.Login(c.t.Context(), credential, "")
	if err != nil {
		c.t.Fatalf("sign in as %s: %v", name, err)
	}
	return pages.User{Name: session.Name, Wiki: wiki.Caller{Session: session}}
}

func (c *confluence) source(recheck time.Duration) *pages.Wiki {
	return pages.NewWiki(pages.WikiOptions{Wiki: c.client, Format: markup.Confluence, Recheck: recheck, Logger: slog.New(slog.DiscardHandler)})
}

func TestConfluenceIsASource(t *testing.T) {
	for name, cloud := range map[string]bool{"data center": false, "cloud": true} {
		t.Run(name, func(t *testing.T) {
			pagestest.Run(t, func(t *testing.T) (pages.Source, pagestest.Wiki) {
				c := newConfluence(t, cloud)
				c.client = wikitest.Patient(c.client)
				return c.source(time.Second), c
			})
		})
	}
}

// Whatever Confluence answers, users get no right that they do not have, and afterwards
// everything is as before.
func TestConfluenceFaults(t *testing.T) {
	for name, fault := range map[string]confluencetest.Fault{
		"error":           confluencetest.JSON(http.StatusInternalServerError, `{}`),
		"HTML":            confluencetest.HTML(http.StatusOK, "Welcome"),
		"HTML, not found": confluencetest.HTML(http.StatusNotFound, "Welcome"),
		"half":            confluencetest.Half,
		"torn":            confluencetest.Torn,
		"redirect":        confluencetest.Redirect,
		"loop":            confluencetest.Loop,
		"100 MB":          confluencetest.Huge,
		"throttle":        confluencetest.With("Retry-After", "99999999", confluencetest.JSON(http.StatusTooManyRequests, `{}`)),
		"for ann":         confluencetest.On("/content", confluencetest.As("ann")),
	} {
		for _, cloud := range []bool{false, true} {
			if cloud && name == "for ann" {
				continue // Cloud's answers do not say whom they are for
			}
			t.Run(fmt.Sprint(name, ", cloud ", cloud), func(t *testing.T) {
				t.Parallel()
				c := newConfluence(t, cloud)
				source := c.source(time.Nanosecond)
				closed := c.Write(pagestest.Page{Title: "Closed", Forms: []string{"a"}, View: []string{"ann"}})
				ann, bob := c.User("ann"), c.User("bob")
				for range 2 {
					if page, err := source.Page(t.Context(), ann, closed); err != nil || !page.Rights.Edit {
						t.Fatalf("for ann: %+v, %v", page, err)
					}
					if page, err := source.Page(t.Context(), bob, closed); !errors.Is(err, pages.ErrNotFound) {
						t.Fatalf("for bob: %+v, %v", page, err)
					}
					c.Fail(fault)
					page, err := source.Page(t.Context(), bob, closed)
					if !errors.Is(err, pages.ErrUnavailable) || page.Page != nil {
						t.Errorf("with the fault: %+v, %v", page, err)
					}
					c.Fail(nil)
				}
			})
		}
	}
}
