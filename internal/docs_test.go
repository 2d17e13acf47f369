package internal_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// readDocuments returns the Markdown files of the project by name.
func readDocuments(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/adr/*.md", "../bench/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			testkit.Must(t, err)
			texts[file] = string(text)
		}
	}
	return texts
}

var (
	codeBlock    = regexp.MustCompile("(?ms)^````[^\n]*\n.*?^````\n|^```[^\n]*\n.*?^```\n")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are those that GitHub gives the headings of a text.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		list = append(list, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

// TestLinksOfDocuments: links within the project lead to a file, and to a heading in it.
func TestLinksOfDocuments(t *testing.T) {
	texts := readDocuments(t)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		for _, m := range markdownLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(texts[file], ""), -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", file, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(texts[target]), anchor) {
				t.Errorf("%s: %s has no heading #%s", file, target, anchor)
			}
		}
	}
}

// TestSizeOfDocuments: what is to be read first is short.
func TestSizeOfDocuments(t *testing.T) {
	for file, text := range readDocuments(t) {
		if file == "../README.md" && strings.Count(text, "\n") >= 120 {
			t.Errorf("README has 120 lines or more: move details to docs/")
		}
		if words := len(strings.Fields(text)); strings.HasPrefix(file, "../docs/adr/0") && words > 300 {
			t.Errorf("%s has %d words, more than 300: move behaviour to docs/", file, words)
		}
	}
}

// TestMapOfContributing: CONTRIBUTING.md has a line for each package.
func TestMapOfContributing(t *testing.T) {
	text := readDocuments(t)["../CONTRIBUTING.md"]
	for name := range mayImport {
		if !forTests(name) && strings.HasPrefix(name, "internal/") && !strings.Contains(text, "\n"+name+"/ ") {
			t.Errorf("no line for %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(internal/\S+)/ `).FindAllStringSubmatch(text, -1) {
		if _, exists := mayImport[m[1]]; !exists {
			t.Errorf("there is no package %s", m[1])
		}
	}
}
