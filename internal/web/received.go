package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// received is a form as it came in.
type received struct {
	answers []forms.Answer
	extra   url.Values // own controls
}

// newReceived is the form of an expired session.
func newReceived(typed url.Values) received {
	r := received{extra: typed}
	for _, id := range slices.Sorted(maps.Keys(typed)) {
		if !strings.HasPrefix(id, "_") {
			a := forms.Answer{FieldID: id, List: typed[id], IsList: true}
			normalize(&a)
			r.answers = append(r.answers, a)
		}
	}
	return r
}

// answered are the ids of the fields that the page has sent an answer to. If no
// box of a question is ticked, a browser sends nothing for it: a page that
// changes a submission names those questions that it showed.
func (r received) answered() map[string]bool {
	ids := stringSet(r.extra[shownControl])
	for i := range r.answers {
		ids[r.answers[i].FieldID] = true
	}
	return ids
}

func stringSet(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// receive reads a form that the caller has filled in, and opens it again: it may
// have taken long to arrive. The files of its answers are staged, unless it is
// only to be shown again.
func (c *call) receive(before *service.Access) (received, *service.Access, error) {
	sent := received{extra: url.Values{}}
	access, answers, err := c.Receive(before, func(access *service.Access) ([]forms.Answer, error) {
		answers, err := request.DecodeMultipart(c.w, c.Call, access, sent.extra)
		c.takeLanguageOf(sent.extra)
		return answers, err
	})
	isMalformed := func(a forms.Answer) bool { return a.Malformed != nil && a.Malformed.EnglishOnly }
	if _, ok := errors.AsType[*forms.Invalid](err); ok || err == nil && slices.ContainsFunc(answers, isMalformed) {
		err = errUnreadable // browsers don't send this
	}
	sent.answers = answers
	if access != nil {
		sent.extra[shownControl] = access.Form.CurrentIDs(sent.extra[shownControl])
		tidy(access.Form, answers, prefilled(access, c.URL.Query()))
	}
	if err == nil && sent.extra.Get(forControl) != c.hashUser() {
		err = errOtherUser
	}
	if err != nil || sent.extra.Has(updateControl) {
		before.DropFiles(service.StagedFiles(sent.answers))
	}
	return sent, access, err
}

// normalize has line ends stored as LF: browsers send those of a textarea as
// CR LF.
func normalize(a *forms.Answer) {
	a.Value = lineFeeds(a.Value)
	for i := range a.List {
		a.List[i] = lineFeeds(a.List[i])
	}
}

// tidy brings what was typed into the form that is stored. It refuses numbers that can
// mean two, unless the form began with them: filled are values by rank.
func tidy(f *forms.Form, answers []forms.Answer, filled []string) {
	fields := f.Index()
	for i := range answers {
		a := &answers[i]
		normalize(a)
		if rank := fields.Rank(a.FieldID); rank >= 0 {
			a.Value = tidyValue(f.Fields[rank], a.Value)
			if a.Sent != nil {
				a.Sent.Value = tidyValue(f.Fields[rank], a.Sent.Value)
			}
			if f.Fields[rank].Validation == forms.Numeric && a.Value != filled[rank] {
				a.Misfit = cmp.Or(a.Misfit, twoMeanings(a.Value))
			}
		}
	}
}

// tidyValue is a value as it is stored when somebody types it: with LF at the end of
// lines, without spaces around a single line, and numbers as plainNumber has them. The module
// conditions.js does the same.
func tidyValue(f *forms.Field, text string) string {
	text = lineFeeds(text)
	if oneLine(f) {
		text = strings.TrimSpace(text)
	}
	if f.Validation == forms.Numeric {
		return plainNumber(text)
	}
	return text
}

// oneLine reports whether a field is answered by typing a single line.
func oneLine(f *forms.Field) bool {
	return f.Type != forms.Textbox && f.Type != forms.File && len(f.Options) == 0
}

func lineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// createKey is the idempotency key of what was sent, "" without one.
func (r received) createKey(access *service.Access) string {
	key := r.extra.Get(keyControl)
	if key == "" || len(key) > 64 {
		return ""
	}
	return access.KeyOfAnswers(key, r.answers)
}

// filling is what a form was filled in with before, with what was sent instead, and the
// reason why that was not stored. Questions that are hidden are not sent. stored are
// values by field id.
func (r received) filling(f *forms.Form, before filling, stored map[string]string, why refusal) filling {
	with := before
	with.why, with.typed, with.retired = why, true, r.retired(f, stored)
	with.notStored = map[string]string{}
	removed := stringSet(r.extra[removeControl])
	byID, answered := answersByID(r.answers), r.answered()
	for rank, field := range f.Fields {
		id, text := field.ID, ""
		if a := byID[id]; a != nil {
			text = a.Text()
		}
		switch {
		case field.Type == forms.File:
			with.notStored[id] = text
			names := withoutRemoved(field, with.values[rank], removed)
			with.values[rank] = strings.Join(names, forms.Separator)
			for i, file := range with.files[id] {
				with.files[id][i].Removed = !slices.Contains(names, file.Name)
			}
		case answered[id]:
			with.values[rank] = text
		}
	}
	return with
}

// newAnswers are the answers of a new submission. Browsers send a question without an
// answer as an empty text, and nothing where no box is ticked. Such answers are left
// out, unless they replace a default.
func (r received) newAnswers(f *forms.Form) []forms.Answer {
	fields := f.Index()
	hasDefault := func(id string) bool {
		rank := fields.Rank(id)
		return rank >= 0 && f.Fields[rank].Default != ""
	}
	answers := slices.DeleteFunc(slices.Clone(r.answers), func(a forms.Answer) bool {
		return a.Value == "" && !a.IsList && a.Malformed == nil && a.Misfit == nil && !hasDefault(a.FieldID)
	})
	sent := answersByID(answers)
	for id := range stringSet(r.extra[shownControl]) {
		if sent[id] == nil && hasDefault(id) {
			answers = append(answers, forms.Answer{FieldID: id})
		}
	}
	return answers
}

// retiredAnswer was typed for a question that has left the form meanwhile.
type retiredAnswer struct {
	FieldID   string
	ElementID string
	Label     string
	Value     string
}

// retired are the answers to questions that the form no longer has, unless they are
// stored already.
func (r received) retired(f *forms.Form, stored map[string]string) []retiredAnswer {
	fields := f.Index()
	var labels map[string]string
	_ = json.Unmarshal([]byte(r.extra.Get(labelsControl)), &labels) // without a label, the id is shown
	var list []retiredAnswer
	for i := range r.answers {
		a := &r.answers[i]
		text := a.Text()
		if text == "" || query.HasColumn(fields, a.FieldID) || text == lineFeeds(stored[a.FieldID]) {
			continue
		}
		list = append(list, retiredAnswer{
			FieldID: a.FieldID, ElementID: "retired-" + strconv.Itoa(len(list)),
			Label: cmp.Or(labels[a.FieldID], a.FieldID), Value: text,
		})
	}
	return list
}

// maxLabels bounds what a page sends along to name its questions later, in bytes.
const maxLabels = 8 << 10

// labelsOf names the questions of a form in a hidden control, so that an answer can
// be shown under its label when the question has left the form.
func labelsOf(access *service.Access) string {
	labels, size := map[string]string{}, 0
	for _, f := range access.Form.Fields {
		if !access.MaySet(f) {
			continue // it is not on the form
		}
		if size += len(f.ID) + len(f.Label); f.Label != f.ID && size < maxLabels {
			labels[f.ID] = f.Label
		}
	}
	text, _ := json.Marshal(labels) // strings can be encoded
	return string(text)
}

// promiseOf is what a page says about the name of its sender.
func promiseOf(f *forms.Form) string {
	if f.Anonymous {
		return "anonymous"
	}
	return "named"
}

// brokenPromise says what has changed if the form is not what its page told the
// sender, and is nil otherwise.
func (r received) brokenPromise(f *forms.Form) *forms.Message {
	switch promised := r.extra.Get(promiseControl); {
	case promised == "" || promised == promiseOf(f):
		return nil
	case f.Anonymous:
		return forms.Say("This form has become anonymous since you opened it. Nothing was sent. " +
			"If you send it now, you can't see or change it later.")
	default:
		return forms.Say("This form was anonymous when you opened it, and is not any more. Nothing was sent. " +
			"If you send it now, it is stored with your name.")
	}
}

func answersByID(answers []forms.Answer) map[string]*forms.Answer {
	byID := make(map[string]*forms.Answer, len(answers))
	for i := range answers {
		byID[answers[i].FieldID] = &answers[i]
	}
	return byID
}
