package pages_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// mediaWiki is a real MediaWiki as the suite writes it.
type mediaWiki struct {
	*mediawikitest.Server
	t      *testing.T
	client wiki.Wiki
	titles map[int64]string
}

func newMediaWiki(t *testing.T) *mediaWiki {
	t.Helper()
	m := &mediaWiki{Server: mediawikitest.Start(t), t: t, titles: map[int64]string{}}
	var err error
	if m.client, err = wiki.Open(wiki.Options{Address: "mediawiki+" + m.API, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mediaWiki) Write(p pagestest.Page) int64 {
	if p.ID == 0 {
		p.ID = m.Server.Write(p.Title, wikitext(p.Forms...))
	} else {
		if m.titles[p.ID] != p.Title {
			m.Move(p.ID, p.Title)
		}
		m.Edit(p.ID, wikitext(p.Forms...))
	}
	m.titles[p.ID] = p.Title
	m.SetRights(p.ID, accounts(p.View), accounts(p.Edit))
	return p.ID
}

// accounts has names as MediaWiki writes them, with a capital.
func accounts(names []string) []string {
	if names == nil {
		return nil
	}
	list := []string{}
	for _, name := range names {
		list = append(list, account(name))
	}
	return list
}

func account(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (m *mediaWiki) Remove(id int64) { m.Delete(id) }

func (m *mediaWiki) Away(away bool) {
	if away {
		m.Stop()
	} else {
		m.Restart()
	}
}

func (m *mediaWiki) User(name string) pages.User {
	name = account(name)
	session, err := m.client.Login(m.t.Context(), wiki.Credential{User: name, Password: mediawikitest.Password(name)}, "")
	if err != nil {
		m.t.Fatalf("sign in as %s: %v", name, err)
	}
	return pages.User{Name: session.Name, Wiki: wiki.Caller{Session: session}}
}

func TestMediaWikiIsASource(t *testing.T) {
	pagestest.Run(t, func(t *testing.T) (pages.Source, pagestest.Wiki) {
		m := newMediaWiki(t)
		return newWiki(wikitest.Patient(m.client), time.Second, time.Now), m
	})
}
