package cli

import (
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

// wikiFlags are those of serve that concern a live wiki.
func wikiFlags() []cli.Flag {
	return []cli.Flag{
		wikiCAFlag(),
		valueFlag("wiki-edit-action", "edit", "MediaWiki: users who may do this to a page have its edit right"),
		durationFlag("wiki-recheck", 30*time.Second, "how long an answer of the wiki about rights or about a browser's session counts, 1s to 5m"),
		durationFlag("wiki-relogin", 5*time.Minute, "how long a password counts before the wiki is asked again, 1s to 1h"),
		listFlag("wiki-cookies", "names of the wiki's session cookies, if they are not those that it usually has"),
	}
}

func wikiCAFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "wiki-ca", Usage: "authorities that the wiki's certificate is checked against (PEM); read again when it changes",
		DefaultText: "the system's", Sources: env("wiki-ca"),
	}
}

var actionName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,99}$`)

// checkWikiFlags refuses a wiki without its users, and flags of a wiki without one.
func checkWikiFlags(cmd *cli.Command) error {
	if !wiki.IsAddress(cmd.String("pages")) {
		if cmd.String("users") == usersOfWiki {
			return usagef("--users wiki goes with --pages mediawiki+URL, confluence+URL or confluence-cloud+URL; for a file of that name use ./wiki")
		}
		for _, flag := range wikiFlags() {
			if name := flag.Names()[0]; cmd.IsSet(name) {
				return usagef("--%s goes with the pages of a live wiki, such as --pages mediawiki+https://wiki.example.org/api.php", name)
			}
		}
		return nil
	}
	recheck, relogin := cmd.Duration("wiki-recheck"), cmd.Duration("wiki-relogin")
	switch {
	case cmd.String("user-header") != "":
		return usagef("--user-header does not go with the pages of a live wiki: its users are the wiki's own, by --users wiki")
	case cmd.String("users") != usersOfWiki:
		return usagef("--users must be wiki with the pages of a live wiki: its users are the wiki's own")
	case cmd.String("groups") != "":
		return usagef("--groups does not go with --users wiki: the wiki knows its groups")
	case recheck < time.Second || recheck > 5*time.Minute:
		return usagef("--wiki-recheck %v: use 1s to 5m", recheck)
	case relogin < time.Second || relogin > time.Hour:
		return usagef("--wiki-relogin %v: use 1s to 1h", relogin)
	case !actionName.MatchString(cmd.String("wiki-edit-action")):
		return usagef("--wiki-edit-action %q: use the name of an action, such as edit or delete", cmd.String("wiki-edit-action"))
	}
	for _, name := range cmd.StringSlice("wiki-cookies") {
		if !httpguts.ValidHeaderFieldName(name) { // the same characters
			return usagef("--wiki-cookies %q: use names of cookies", name)
		}
	}
	return nil
}

// openWiki makes the client of the wiki that an argument names.
func openWiki(address string, cmd *cli.Command, log *slog.Logger) (wiki.Wiki, error) {
	w, err := wiki.Open(wiki.Options{
		Address: address, CAFile: cmd.String("wiki-ca"), EditAction: cmd.String("wiki-edit-action"), Cookies: cmd.StringSlice("wiki-cookies"),
		Agent: "Formulary/" + Version(), Logger: log,
	})
	if err != nil {
		return nil, &configError{err}
	}
	return w, nil
}

// wikiFormat is the format of a wiki's pages.
func wikiFormat(address string) markup.Format {
	if strings.HasPrefix(address, "mediawiki+") {
		return markup.Wikitext
	}
	return markup.Confluence
}

// wiki checks all pages of a live wiki that somebody may read.
func (c *checker) wiki(ctx context.Context, address string, cmd *cli.Command, streams Streams) error {
	who := wiki.Credential{
		User: os.Getenv("FORMULARY_WIKI_USER"), Password: os.Getenv("FORMULARY_WIKI_PASSWORD"), Token: os.Getenv("FORMULARY_WIKI_TOKEN"),
	}
	if who.Token == "" && (who.User == "" || who.Password == "") {
		return usagef("say who reads the wiki: set FORMULARY_WIKI_USER and FORMULARY_WIKI_PASSWORD, or FORMULARY_WIKI_TOKEN")
	}
	w, err := openWiki(address, cmd, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return withProgress(ctx, streams, "not all pages were checked", func(ctx context.Context, show sqlite.Progress) error {
		session, err := w.Login(ctx, who, "")
		if err != nil {
			return fmt.Errorf("sign in to the wiki: %w", err)
		}
		seen := int64(0)
		return w.All(ctx, wiki.Caller{Session: session}, func(page wiki.Page, text wiki.Text, total int) error {
			parsed := markup.ParseBody(wikiFormat(address), page.ID, text.Source, c.mail)
			c.page(finding{File: page.Title, Page: page.ID}, &parsed, text.Source)
			seen++
			show("pages read", "pages", seen, int64(total))
			return nil
		})
	})
}

// openPages opens where pages come from and who may use them, as the flags say.
func openPages(cmd *cli.Command, mail *markup.Mail, log *slog.Logger) (pages.Source, auth.People, error) {
	from := cmd.String("pages")
	if !wiki.IsAddress(from) {
		users, err := openUsers(cmd, log)
		if err != nil {
			return nil, nil, err
		}
		source, err := pages.OpenDirectory(from, mail, log)
		if err != nil {
			return nil, nil, &configError{err}
		}
		return source, users, nil
	}
	w, err := openWiki(from, cmd, log)
	if err != nil {
		return nil, nil, err
	}
	if wiki.InClear(from) {
		log.Warn("passwords cross the network in clear text on their way to the wiki: use https")
	}
	recheck := cmd.Duration("wiki-recheck")
	source := pages.NewWiki(pages.WikiOptions{Wiki: w, Format: wikiFormat(from), Recheck: recheck, Mail: mail, Logger: log})
	return source, auth.NewWiki(auth.WikiOptions{Wiki: w, Relogin: cmd.Duration("wiki-relogin"), Recheck: recheck}), nil
}
