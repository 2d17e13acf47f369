package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/server"
)

// finding is something wrong with a page file or a directory of them.
type finding struct {
	File              string `json:"file,omitempty"` // or the title of a page of a live wiki
	Page              int64  `json:"page,omitempty"` // its id; of page files only with a Code
	markup.Diagnostic        // with no line if it is about the file as a whole
	// What --against finds; see forms.Finding.
	Code  string `json:"code,omitempty"`
	Form  string `json:"form,omitempty"`
	Field string `json:"field,omitempty"`
	Count int    `json:"count,omitempty"`
	Of    int    `json:"of,omitempty"`

	source *string // the text of the line, if there is one
}

func (f finding) messageAndHint() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

// checkSummary counts what was read and what was found.
type checkSummary struct {
	Pages    int `json:"pages"`
	Forms    int `json:"forms"`
	Fields   int `json:"fields"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// checkFormat is how findings are printed.
type checkFormat struct {
	finding func(finding) (lines []string)
	summary func(checkSummary) (line string)
}

var checkFormats = map[string]checkFormat{
	"text": {textFinding, textSummary},
	"json": {
		func(f finding) []string { return []string{marshal(f)} },
		func(s checkSummary) string { return marshal(s) },
	},
	"github": {githubFinding, textSummary},
}

// marshal returns v as one line of JSON. v is a struct of numbers and strings, whose
// encoding can't fail.
func marshal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}

// githubFinding is a workflow command of GitHub Actions.
func githubFinding(f finding) []string {
	location := "file=" + githubProperty.Replace(f.File)
	if f.Line > 0 {
		location += fmt.Sprintf(",line=%d,col=%d", f.Line, f.Column)
	}
	return []string{fmt.Sprintf("::%s %s::%s", f.Severity, location, githubMessage.Replace(f.messageAndHint()))}
}

// GitHub wants these characters escaped: in a message, and in a property such as file=.
var (
	githubMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func textSummary(s checkSummary) string {
	return fmt.Sprintf("%s, %s, %s: %s, %s",
		forms.Counted(s.Pages, "page", "pages"), forms.Counted(s.Forms, "form", "forms"),
		forms.Counted(s.Fields, "field", "fields"), forms.Counted(s.Errors, "error", "errors"),
		forms.Counted(s.Warnings, "warning", "warnings"))
}

// textFinding reads like a message of a compiler: location, what is wrong, what
// would be right, and the line with a caret below the column.
func textFinding(f finding) []string {
	message := string(f.Severity) + ": " + f.messageAndHint()
	if f.Line == 0 {
		return []string{message} // which names the file
	}
	lines := []string{fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, message)}
	if f.source != nil {
		text, indent := excerpt(*f.source, f.Column)
		lines = append(lines, fmt.Sprintf("%5d | %s", f.Line, text), "      | "+indent+"^")
	}
	return lines
}

// excerptRunes is about what fits beside the line number on a terminal.
const excerptRunes = 100

// excerpt cuts a long line around the column, with a "…" where it is cut, and
// returns the white space that brings a caret below the column. Tabs stay tabs,
// so that both lines indent alike; what a terminal would act upon is shown as a
// replacement character.
func excerpt(line string, column int) (text, indent string) {
	runes := []rune(line)
	column = min(max(column, 1), len(runes)+1)
	if len(runes) > excerptRunes {
		// The column never falls on a "…": it is in the middle, or near an end
		// that is not cut.
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
		if server.ActsOnTerminals(r) {
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
