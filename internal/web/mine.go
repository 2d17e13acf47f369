package web

import (
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/service"
)

// ownRow is a submission in the list of the caller's own.
type ownRow struct {
	Path     string
	Answers  []Words // by which people know it
	State    answerView
	Sent     moment
	Change   string // path; "" if the caller may not
	Withdraw string // the same
}

// ownRow is the row of a submission whose address has a query, which leads back to the list.
func (c *call) ownRow(access *service.Access, sub forms.Submission, query string) (ownRow, error) {
	values, err := sub.Values()
	read := func() (map[string]string, error) { return values, err }
	path := c.submissionPath(access.Form, sub.ID)
	row := ownRow{
		Path: path + query, Sent: shownTime(access.Form, sub.Created, c.Backend.Service.Zone()),
		Answers: shortAnswers(c.Lang, access.Form, access.Lang(), values), State: stateOf(c.Lang, access.Form, values),
	}
	row.State.Lang = access.Lang()
	if access.MayChange(sub, read) == nil && access.MayUpdate() == nil {
		row.Change = path + "/change" + query
	}
	if access.MayDelete(sub, read) == nil {
		row.Withdraw = path + "/delete" + query
	}
	return row, err
}

// What tells a submission from others.
const (
	maxShortAnswers = 3
	maxShortAnswer  = 40 // characters
)

// shortAnswers are the first answers of one line, without files and without those of editors. Days are in the reader's
// language, other answers in that of the tag.
func shortAnswers(l *lang.Language, f *forms.Form, tag string, values map[string]string) (short []Words) {
	for _, field := range f.Fields {
		text := l.Answer(field, values[field.ID])
		if field.MultiValue() {
			text = strings.ReplaceAll(text, forms.Separator, l.Text(", "))
		}
		fits := text != "" && utf8.RuneCountInString(text) <= maxShortAnswer && !strings.Contains(text, "\n")
		theirs := !field.ByEditors && field.Type != forms.Status && field.Type != forms.File
		if fits && theirs && len(short) < maxShortAnswers {
			words := Words{text, tag}
			if field.Validation == forms.DateOnly {
				words.Lang = ""
			}
			short = append(short, words)
		}
	}
	return short
}

// stateOf is the answer to the first status field. Its value is "" if there is none.
func stateOf(l *lang.Language, f *forms.Form, values map[string]string) answerView {
	for _, field := range f.Fields {
		if field.Type == forms.Status {
			return newAnswer(l, field, values[field.ID], nil)
		}
	}
	return answerView{}
}
