package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/wiki"
)

func checkCommand(streams Streams) *cli.Command {
	var (
		formatName string
		strict     bool
		notified   []string
		options    wiki.Options
		from       string
		zoneName   string
	)
	return &cli.Command{
		Name:      "check",
		Usage:     "say what is wrong on the pages",
		ArgsUsage: "DIR|FILE|WIKI…",
		Description: `Reads page files, and directories of them, and prints each problem with file, line and column.
The names of page files end in ` + markup.Extensions + `.
A live wiki is named as for serve: mediawiki+URL of its api.php, confluence+URL or confluence-cloud+URL. All its pages
are read that the user of the variables FORMULARY_WIKI_USER and FORMULARY_WIKI_PASSWORD, or FORMULARY_WIKI_TOKEN,
may read. The file of a problem is the title of its page then, and JSON has the id as page.
The exit status is 1 if there is any error; warnings alone leave it 0.

--format json prints one JSON object per line: file, line, column, severity (error or warning), message and hint.
Line and column are absent where the file or directory as a whole is meant, hint where there is none. The last line
is the summary: pages, forms, fields, errors and warnings.
--against says what the pages would do to submissions that are stored, as warnings: answers to fields that a form no
longer has, that would be refused or that are hidden, required fields without one, submissions beyond keep or limit,
people with several where one is allowed, and forms that have left their page. It reads the store and changes nothing,
also while a server uses it; the exit status is 2 if it can't. No name is printed, and of answers only up to three
that were options of a field when they were sent.
JSON has code, page, form, field, count and of then.
--format github prints workflow commands, which GitHub Actions shows beside the lines of a pull request.`,
		Flags: []cli.Flag{
			valueFlag("format", &formatName, "text", "text, json or github"),
			boolFlag("strict", &strict, "treat warnings as errors"),
			mailDomainsFlag(&notified),
			textFlag("against", &from,
				"store to check the pages against: its data directory, sqlite:DIR or postgres://USER@HOST/NAME"),
			valueFlag("timezone", &zoneName, "UTC",
				"time zone of opens and closes, and of days with --against: the one of serve"),
			wikiCAFlag(&options.CAFile),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return usagef("check takes page files, directories or live wikis")
			}
			format, ok := checkFormats[formatName]
			if !ok {
				return usagef("--format %q: use text, json or github", formatName)
			}
			domains, err := parseMailDomains(notified)
			if err != nil {
				return err
			}
			source, sourceErr := parseSource(from)
			if from != "" && sourceErr != nil {
				return usagef("--against: %w", sourceErr)
			}
			zone, err := parseZone(zoneName)
			if err != nil {
				return err
			}
			out := bufio.NewWriter(streams.Out)
			c := checker{
				out: out, format: format, options: &markup.Options{MailDomains: domains, Zone: zone},
				files: map[int64][]string{}, seen: map[string]bool{},
			}
			if from != "" {
				c.compared = map[int64]comparedPage{}
			}
			for _, arg := range cmd.Args().Slice() {
				options.Address = arg
				if !wiki.IsAddress(arg) {
					c.path(arg)
				} else if err := c.wiki(ctx, options, streams); err != nil {
					return errors.Join(err, out.Flush())
				}
			}
			c.duplicateIDs()
			if from != "" {
				if err := c.against(ctx, source, zone, streams); err != nil {
					return errors.Join(err, out.Flush())
				}
			}
			c.print(format.summary(c.summary))
			if err := out.Flush(); err != nil {
				return err
			}
			if c.summary.Errors > 0 || (strict && c.summary.Warnings > 0) {
				return errFailed
			}
			return nil
		},
	}
}

// checker gathers and prints what is found.
type checker struct {
	out      io.Writer
	format   checkFormat
	options  *markup.Options
	files    map[int64][]string     // by page id
	seen     map[string]bool        // by their full paths
	compared map[int64]comparedPage // by page id; nil unless they are compared with a store
	whole    bool                   // a directory or a wiki was read
	unread   bool                   // a page was not, or its id is not known
	summary  checkSummary
}

func (c *checker) path(path string) {
	info, err := os.Stat(path)
	if err != nil {
		c.cannotRead(path, err)
		return
	}
	if !info.IsDir() {
		c.file(path)
		return
	}
	c.whole = true
	files, unreadable, err := pages.Find(path)
	if err != nil {
		c.cannotRead(path, err)
		return
	}
	for _, dir := range unreadable {
		c.cannotRead(dir, fmt.Errorf("%s can't be read", dir))
	}
	if len(files)+len(unreadable) == 0 {
		c.report(finding{File: path, Diagnostic: markup.Diagnostic{
			Severity: markup.Warning, Message: path + " holds no page file", Hint: "names end in " + markup.Extensions,
		}})
	}
	for _, f := range files {
		c.file(f)
	}
}

func (c *checker) cannotRead(path string, err error) {
	c.unread = true
	c.report(finding{File: path, Diagnostic: markup.Diagnostic{Severity: markup.Error, Message: err.Error()}})
}

func (c *checker) file(path string) {
	if full, err := filepath.Abs(path); err == nil {
		if c.seen[full] {
			return // given twice, by itself or with its folder
		}
		c.seen[full] = true
	}
	page, source, err := pages.Read(path, c.options)
	if err != nil {
		c.cannotRead(path, err)
		return
	}
	if page.ID != 0 {
		c.files[page.ID] = append(c.files[page.ID], path)
	}
	firstLine, _, _ := strings.Cut(strings.TrimPrefix(string(source), "\ufeff"), "\n")
	page.Diagnostics = append(missingEditors(&page, firstLine), page.Diagnostics...)
	c.page(finding{File: path}, &page, source)
}

// page counts what is on a page, and reports what is wrong with it. at names the page.
func (c *checker) page(at finding, page *markup.Page, source []byte) {
	c.summary.Pages++
	if c.compared != nil {
		c.addPage(at, page, source)
	}
	for _, b := range page.Blocks {
		if b.Form != nil {
			c.summary.Forms++
			c.summary.Fields += len(b.Form.Fields)
		}
	}
	lines := sourceLines(source)
	for _, p := range page.Diagnostics {
		f := at
		f.Diagnostic = p
		if p.Line <= len(lines) {
			f.source = &lines[p.Line-1]
		}
		c.report(f)
	}
}

// sourceLines returns the lines of a page as diagnostics count them.
func sourceLines(source []byte) []string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(source), "\ufeff"))
	return strings.Split(text, "\n")
}

// missingEditors warns of a page with forms that does not say who may edit. The
// server says nothing of it: it is the default of every page.
func missingEditors(page *markup.Page, firstLine string) []markup.Diagnostic {
	if len(page.Blocks) == 0 || !page.MetaRead || page.Meta.Edit != nil {
		return nil
	}
	hint := `add edit: [NAME, "@GROUP"] to the front matter`
	if strings.TrimRight(firstLine, " \t\r") != "---" {
		hint = `begin the page with the lines "---", edit: [NAME, "@GROUP"] and "---"`
	}
	return []markup.Diagnostic{{
		Line: 1, Column: 1, Severity: markup.Warning, Hint: hint,
		Message: "the page names no editors: everybody who may view it may read, change and delete all submissions",
	}}
}

// duplicateIDs reports files that share a page id: a server serves only one of them.
func (c *checker) duplicateIDs() {
	for _, id := range slices.Sorted(maps.Keys(c.files)) {
		paths := c.files[id]
		served := paths[0]
		for _, path := range paths {
			if pages.Precedes(path, served, id) {
				served = path
			}
		}
		for _, path := range slices.Sorted(slices.Values(paths)) {
			if path != served {
				c.report(finding{File: path, Diagnostic: markup.Diagnostic{
					Line: 1, Column: 1, Severity: markup.Error,
					Message: fmt.Sprintf("page id %d is already taken by %s, which is served", id, served),
					Hint:    "give one of them another id",
				}})
			}
		}
	}
}

func (c *checker) report(f finding) {
	if f.Severity == markup.Error {
		c.summary.Errors++
	} else {
		c.summary.Warnings++
	}
	for _, line := range c.format.finding(f) {
		c.print(line)
	}
}

// print prints one line. File names and text of pages may contain what would make a
// terminal act.
func (c *checker) print(line string) {
	line = strings.ReplaceAll(strings.ToValidUTF8(line, "\ufffd"), "\n", `\u000a`)
	_, _ = fmt.Fprintln(server.LineEscaper{W: c.out}, line)
}

func mailDomainsFlag(to *[]string) cli.Flag {
	return listFlag("mail-domains", to, "domains, such as example.org, whose addresses get mail; "+
		"subdomains count only if they are named")
}
