package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	library "github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/cli"
)

// completions are the files of shells, by the names that the shells look for.
var completions = map[string]string{"bash": "formulary.bash", "fish": "formulary.fish", "zsh": "_formulary"}

// linked are what people read, and what that links to.
var linked = []string{
	"*.md", "docs/*.md", "docs/adr/*", "docs/images/*", "bench/RESULTS.md",
	"examples/groups", "examples/users.htpasswd", "examples/pages/*",
	"deploy/caddy/*", "deploy/docker/*", "deploy/nginx/*", "deploy/prometheus/*", "deploy/systemd/*",
}

// documents are what people read, and completions for shells. The licence is the first.
func (r *release) documents() ([]file, error) {
	list, err := readAll(r.root, append([]string{"LICENSE"}, linked...)...)
	if err != nil {
		return nil, err
	}
	root := cli.Root(cli.Streams{})
	pages := []file{r.manual("formulary", root)}
	for _, c := range root.Commands {
		if !c.Hidden {
			pages = append(pages, r.manual("formulary "+c.Name, c))
		}
	}
	list = append(list, pages...)
	for _, shell := range []string{"bash", "fish", "zsh"} {
		var script bytes.Buffer
		root := cli.Root(cli.Streams{Out: &script, Err: &script})
		if err := root.Run(context.Background(), []string{"formulary", "completion", shell}); err != nil {
			return nil, err
		}
		list = append(list, file{name: "completions/" + completions[shell], mode: 0o644, data: script.Bytes()})
	}
	return list, nil
}

// manual is the manual page of a command, in the language of man(7).
func (r *release) manual(name string, c *library.Command) file {
	var b bytes.Buffer
	title := strings.ReplaceAll(name, " ", "-")
	// Without hyphenation (.nh): names of variables are there to be copied.
	fmt.Fprintf(&b, ".TH %s 1 %s \"Formulary %s\"\n.nh\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n",
		strings.ToUpper(title), r.time.Format(time.DateOnly), r.version, title, roff(c.Usage), name)
	switch {
	case len(c.Commands) > 0:
		b.WriteString("COMMAND [OPTION]... [ARGUMENT]...\n")
	default:
		b.WriteString(strings.TrimSpace("[OPTION]... "+roff(c.ArgsUsage)) + "\n")
	}
	if c.Description != "" {
		b.WriteString(".SH DESCRIPTION\n" + paragraphs(c.Description))
	}
	if len(c.Commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
	}
	for _, sub := range c.Commands {
		if !sub.Hidden {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", strings.TrimSpace(sub.Name+" "+roff(sub.ArgsUsage)), roff(sub.Usage))
		}
	}
	if flags := c.VisibleFlags(); len(flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			b.WriteString(option(f))
		}
	}
	if name == "formulary" {
		b.WriteString(".SH SEE ALSO\n")
		for i, sub := range c.Commands {
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, "\\fBformulary\\-%s\\fR(1)", sub.Name)
		}
		b.WriteString("\n")
	} else {
		b.WriteString(".SH SEE ALSO\n\\fBformulary\\fR(1)\n")
	}
	return file{name: "man/" + title + ".1", mode: 0o644, data: b.Bytes()}
}

// option is the paragraph of a flag, with its environment variable and its default.
func option(f library.Flag) string {
	doc := f.(library.DocGenerationFlag)
	name := "\\-\\-" + roff(f.Names()[0])
	if doc.TakesValue() {
		name += " " + strings.ToUpper(doc.TypeName())
	}
	text := roff(doc.GetUsage()) + "."
	value := doc.GetDefaultText()
	if value == "" {
		value = strings.Trim(doc.GetValue(), `"[]`)
	}
	if value != "" && value != "false" {
		text += " Default: " + roff(value) + "."
	}
	if env := doc.GetEnvVars(); len(env) > 0 {
		text += " Environment: " + env[0] + "."
	}
	return fmt.Sprintf(".TP\n.B %s\n%s\n", name, text)
}

// paragraphs are a description. Lines that begin with a space are examples, which stay as they are.
func paragraphs(text string) string {
	var b strings.Builder
	example := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, " "); indented != example {
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n"}[indented])
			example = indented
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if example {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// roff escapes a line of text.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
