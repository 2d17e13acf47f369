package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/testkit"
)

var update = flag.Bool("update", false, "write the flags into docs/configuration.md")

// TestConfigurationPage holds docs/configuration.md against the commands and
// their flags. With -update it writes them into the page.
func TestConfigurationPage(t *testing.T) {
	const (
		page  = "../../docs/configuration.md"
		begin = "<!-- Written by: go test ./internal/cli -run TestConfigurationPage -update -->\n"
		end   = "<!-- End of what is written by the test. -->\n"
	)
	text, err := os.ReadFile(page)
	testkit.Must(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	}
	want := before + begin + commandReference(Root(Streams{})) + "\n" + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: run go test ./internal/cli -run TestConfigurationPage -update", page)
	}
	testkit.Must(t, os.WriteFile(page, []byte(want), 0o600))
}

// commandReference describes all commands in Markdown.
func commandReference(root *cli.Command) string {
	var b strings.Builder
	for _, c := range root.Commands {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s%s.\n", strings.TrimSpace("formulary "+c.Name+" "+c.ArgsUsage),
			strings.ToUpper(c.Usage[:1]), c.Usage[1:])
		for _, sub := range c.Commands {
			fmt.Fprintf(&b, "\n- `%s`: %s\n", strings.TrimSpace("formulary "+c.Name+" "+sub.Name+" "+sub.ArgsUsage), sub.Usage)
		}
		if len(c.Flags) > 0 {
			b.WriteString("\n| flag | environment | default | meaning |\n|---|---|---|---|\n")
		}
		for _, f := range c.Flags {
			name := f.Names()[0]
			doc := f.(cli.DocGenerationFlag)
			variable := "none"
			if env := doc.GetEnvVars(); len(env) > 0 {
				variable = "`" + env[0] + "`"
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", name, variable, defaultOf(f), strings.ReplaceAll(doc.GetUsage(), "|", `\|`))
		}
	}
	return b.String()
}

func defaultOf(f cli.Flag) string {
	if required, ok := f.(cli.RequiredFlag); ok && required.IsRequired() {
		return "required"
	}
	doc := f.(cli.DocGenerationFlag)
	if text := doc.GetDefaultText(); text != "" {
		return text
	}
	if value := strings.Trim(doc.GetValue(), `"[]`); value != "" {
		return "`" + value + "`"
	}
	return "none"
}
