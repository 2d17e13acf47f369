package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/wiki"
)

// usersOfWiki as --users says that people have accounts of the wiki.
const usersOfWiki = "wiki"

// wikiFlags are those that concern a live wiki.
func (c *config) wikiFlags() []cli.Flag {
	return []cli.Flag{
		wikiCAFlag(&c.wiki.CAFile),
		valueFlag("wiki-edit-action", &c.wiki.EditAction, "edit",
			"MediaWiki: users who may do this to a page have its edit right"),
		durationFlag("wiki-recheck", &c.wikiRecheck, 30*time.Second,
			"how long an answer of the wiki about rights or about a browser's session counts, 1s to 5m"),
		durationFlag("wiki-relogin", &c.wikiRelogin, 5*time.Minute,
			"how long a password counts before the wiki is asked again, 1s to 1h"),
		listFlag("wiki-cookies", &c.wiki.Cookies,
			"names of the wiki's session cookies, if they are not those that it usually has"),
	}
}

func wikiCAFlag(to *string) cli.Flag {
	return &cli.StringFlag{
		Name: "wiki-ca", Destination: to, Sources: env("wiki-ca"), DefaultText: "the system's",
		Usage: "authorities that the wiki's certificate is checked against (PEM); read again when it changes",
	}
}

var actionName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,99}$`)

// checkWiki refuses a wiki without its users, and flags of a wiki without one.
func (c *config) checkWiki(cmd *cli.Command) error {
	users, action := c.users.UsersFile, c.wiki.EditAction
	if !wiki.IsAddress(c.wiki.Address) {
		err := refuse(users == usersOfWiki,
			"--users wiki goes with --pages mediawiki+URL, confluence+URL or confluence-cloud+URL; "+
				"for a file of that name use ./wiki")
		for _, flag := range c.wikiFlags() {
			name := flag.Names()[0]
			err = cmp.Or(err, refuse(cmd.IsSet(name),
				"--%s goes with the pages of a live wiki, such as --pages mediawiki+https://wiki.example.org/api.php", name))
		}
		return err
	}
	_, _, addressErr := wiki.ParseAddress(c.wiki.Address)
	err := cmp.Or(
		refuse(addressErr != nil, "--pages: %w", addressErr),
		refuse(c.userHeader != "",
			"--user-header does not go with the pages of a live wiki: its users are the wiki's own, by --users wiki"),
		refuse(users != usersOfWiki, "--users must be wiki with the pages of a live wiki: its users are the wiki's own"),
		refuse(c.users.GroupsFile != "", "--groups does not go with --users wiki: the wiki knows its groups"),
		refuse(c.wikiRecheck < time.Second || c.wikiRecheck > 5*time.Minute,
			"--wiki-recheck %v: use 1s to 5m", c.wikiRecheck),
		refuse(c.wikiRelogin < time.Second || c.wikiRelogin > time.Hour, "--wiki-relogin %v: use 1s to 1h", c.wikiRelogin),
		refuse(!actionName.MatchString(action),
			"--wiki-edit-action %q: use the name of an action, such as edit or delete", action),
	)
	for _, name := range c.wiki.Cookies { // a name has the same characters as that of a header
		err = cmp.Or(err, refuse(!httpguts.ValidHeaderFieldName(name), "--wiki-cookies %q: use names of cookies", name))
	}
	return err
}

// openWiki makes the client of a wiki.
func openWiki(options wiki.Options, log *slog.Logger) (wiki.Wiki, error) {
	options.Agent, options.Logger = "Formulary/"+thisBuild().Version, log
	return configured(wiki.Open(options))
}

// wikiFormat is the format of a wiki's pages.
func wikiFormat(address string) markup.Format {
	if strings.HasPrefix(address, "mediawiki+") {
		return markup.Wikitext
	}
	return markup.Confluence
}

// wiki checks all pages of a live wiki that somebody may read.
func (c *checker) wiki(ctx context.Context, options wiki.Options, streams Streams) error {
	who := wiki.Credential{
		User: os.Getenv("FORMULARY_WIKI_USER"), Password: os.Getenv("FORMULARY_WIKI_PASSWORD"),
		Token: os.Getenv("FORMULARY_WIKI_TOKEN"),
	}
	w, err := openWiki(options, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if who.Token == "" && (who.User == "" || who.Password == "") {
		return usagef("say who reads the wiki: set FORMULARY_WIKI_USER and FORMULARY_WIKI_PASSWORD, or FORMULARY_WIKI_TOKEN")
	}
	c.whole = true
	return withProgress(ctx, streams, "not all pages were checked", func(ctx context.Context, show sqlite.Progress) error {
		session, err := w.Login(ctx, who, "")
		if err != nil {
			return fmt.Errorf("sign in to the wiki: %w", err)
		}
		seen := int64(0)
		return w.All(ctx, wiki.Caller{Session: session}, func(page wiki.Page, text wiki.Text, total int) error {
			parsed := markup.ParseBody(wikiFormat(options.Address), page.ID, text.Source, c.options)
			c.page(finding{File: page.Title, Page: page.ID}, &parsed, text.Source)
			seen++
			show("pages read", "pages", seen, int64(total))
			return nil
		})
	})
}

// openPages opens where pages come from and who may use them.
func openPages(c *config, log *slog.Logger) (pages.Source, auth.People, error) {
	from := c.wiki.Address
	if !wiki.IsAddress(from) {
		users, err := openUsers(c, log)
		if err != nil {
			return nil, nil, err
		}
		c.markup.UnknownName = users.UnknownName
		source, err := configured(pages.OpenDirectory(from, &c.markup, log))
		return source, users, err
	}
	w, err := openWiki(c.wiki, log)
	if err != nil {
		return nil, nil, err
	}
	if wiki.InClear(from) {
		log.Warn("passwords cross the network in clear text on their way to the wiki: use https")
	}
	source := pages.NewWiki(pages.WikiOptions{
		Wiki: w, Format: wikiFormat(from), Recheck: c.wikiRecheck, Options: &c.markup, Logger: log,
	})
	return source, auth.NewWiki(auth.WikiOptions{Wiki: w, Relogin: c.wikiRelogin, Recheck: c.wikiRecheck}), nil
}
