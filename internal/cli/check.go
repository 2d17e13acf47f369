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
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
)

func checkCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "say what is wrong on the pages",
		ArgsUsage: "DIR|FILE…",
		Description: "Reads page files, and directories of them, and prints each problem with its place. The names of page files\n" +
			"end in " + markup.Extensions + ".\n" +
			"The exit status is 1 if there is any error; warnings alone leave it 0.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "strict", Usage: "treat warnings as errors", Sources: env("strict")},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return &usageError{errors.New("check takes page files or directories"), "check --help"}
			}
			out := bufio.NewWriter(streams.Out)
			c := checker{out: out, files: map[int64][]string{}, seen: map[string]bool{}}
			for _, arg := range cmd.Args().Slice() {
				c.path(arg)
			}
			c.twins()
			c.summary()
			if err := out.Flush(); err != nil {
				return err
			}
			if c.errors > 0 || (cmd.Bool("strict") && c.warnings > 0) {
				return errFailed
			}
			return nil
		},
	}
}

// checker gathers and prints what is found.
type checker struct {
	out                  io.Writer
	files                map[int64][]string // by page id
	seen                 map[string]bool    // by their full paths
	pages, forms, fields int
	errors, warnings     int
}

func (c *checker) path(path string) {
	info, err := os.Stat(path)
	if err != nil {
		c.cannotRead(err)
		return
	}
	if !info.IsDir() {
		c.file(path)
		return
	}
	files, unreadable, err := pages.Find(path)
	if err != nil {
		c.cannotRead(err)
		return
	}
	for _, dir := range unreadable {
		c.cannotRead(fmt.Errorf("%s can't be read", dir))
	}
	for _, f := range files {
		c.file(f)
	}
}

func (c *checker) cannotRead(err error) {
	c.errors++
	c.print("error: " + err.Error())
}

func (c *checker) file(path string) {
	if full, err := filepath.Abs(path); err == nil {
		if c.seen[full] {
			return // given twice, by itself or with its folder
		}
		c.seen[full] = true
	}
	page, source, err := pages.Read(path)
	if err != nil {
		c.cannotRead(err)
		return
	}
	c.pages++
	for _, b := range page.Blocks {
		if b.Form != nil {
			c.forms++
			c.fields += len(b.Form.Fields)
		}
	}
	if page.ID != 0 {
		c.files[page.ID] = append(c.files[page.ID], path)
	}
	lines := sourceLines(source)
	for _, p := range page.Problems {
		c.problem(path, lines, p)
	}
}

// twins tells of files that have one page id: a server serves one of them.
func (c *checker) twins() {
	for _, id := range slices.Sorted(maps.Keys(c.files)) {
		paths := slices.Sorted(slices.Values(c.files[id]))
		stands := paths[0]
		for _, path := range paths {
			if pages.Precedes(path, stands, id) {
				stands = path
			}
		}
		for _, path := range paths {
			if path != stands {
				c.twin(path, stands, id)
			}
		}
	}
}

func (c *checker) twin(path, stands string, id int64) {
	_, source, err := pages.Read(path)
	if err != nil {
		c.cannotRead(err)
		return
	}
	c.problem(path, sourceLines(source), markup.Problem{
		Line: 1, Column: 1, Severity: markup.Error,
		Message: fmt.Sprintf("page id %d is already taken by %s, which stands", id, stands),
		Hint:    "give one of them another id",
	})
}

// problem prints as a compiler would: place, what is wrong, what would be
// right, and the line with a caret below the place.
func (c *checker) problem(path string, lines []string, p markup.Problem) {
	if p.Severity == markup.Error {
		c.errors++
	} else {
		c.warnings++
	}
	said := fmt.Sprintf("%s:%d:%d: %s: %s", path, p.Line, p.Column, p.Severity, p.Message)
	if p.Hint != "" {
		said += "; " + p.Hint
	}
	c.print(said)
	if p.Line > len(lines) {
		return
	}
	text, caret := excerpt(lines[p.Line-1], p.Column)
	c.print(fmt.Sprintf("%5d | %s", p.Line, text))
	c.print("      | " + caret + "^")
}

// print prints one line. Names of files and what stands on pages is shown, and
// never acted upon by a terminal.
func (c *checker) print(line string) {
	var safe strings.Builder
	for _, r := range line { // a byte that is not UTF-8 becomes a replacement character
		if actsOnTerminals(r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
		} else {
			safe.WriteRune(r)
		}
	}
	_, _ = fmt.Fprintln(c.out, safe.String())
}

// actsOnTerminals tells control characters, and those that reverse the order of
// the text that follows, from what is shown. A tab is harmless.
func actsOnTerminals(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// excerptRunes is about what fits beside the line number on a terminal.
const excerptRunes = 100

// excerpt cuts a long line around the column, with a "…" where it is cut, and
// returns the white space that brings a caret below the column. Tabs stay tabs,
// so that both lines indent alike; what a terminal would act upon is shown as a
// replacement character.
func excerpt(line string, column int) (text, caret string) {
	runes := []rune(line)
	column = min(max(column, 1), len(runes)+1)
	if len(runes) > excerptRunes {
		// The column is in the middle, or nearer to an end that is not cut: it
		// never is where a "…" goes.
		start := max(0, min(column-1-excerptRunes/2, len(runes)-excerptRunes))
		end := start + excerptRunes
		if start > 0 {
			runes[start] = '…'
		}
		if end < len(runes) {
			runes[end-1] = '…'
		}
		runes, column = runes[start:end], column-start
	}
	for i, r := range runes {
		if actsOnTerminals(r) {
			runes[i] = '\uFFFD'
		}
	}
	var pad strings.Builder
	for _, r := range runes[:column-1] {
		if r != '\t' {
			r = ' '
		}
		pad.WriteRune(r)
	}
	return string(runes), pad.String()
}

func sourceLines(source []byte) []string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(source), "\ufeff"))
	return strings.Split(text, "\n")
}

func (c *checker) summary() {
	c.print(fmt.Sprintf("%s, %s, %s: %s, %s",
		count(c.pages, "page"), count(c.forms, "form"), count(c.fields, "field"),
		count(c.errors, "error"), count(c.warnings, "warning")))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
