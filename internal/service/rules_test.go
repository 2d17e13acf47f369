package service

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// addForm puts a form on page 1.
func (w *world) addForm(f forms.Form) {
	f.PageID = 1
	w.page.Forms = append(w.page.Forms, &f)
}

// Days are those of the zone, and fields of editors are theirs.
func TestRulesKnowDayAndEditor(t *testing.T) {
	w := newWorld(t)
	w.zone = time.FixedZone("UTC+13", 13*60*60) // the next day there
	state := forms.Field{ID: "state", Type: forms.Textfield, ByEditors: true}
	w.addForm(forms.Form{ID: "rules", Fields: []forms.Field{
		{ID: "day", Type: forms.Date, Validation: forms.DateOnly, Default: forms.Today, Min: &forms.Bound{Value: forms.Today}}, state,
	}})
	a, e := w.as(owner, "rules"), w.as(editor, "rules")
	if a.Today() != "2026-03-02" || a.MaySet(&state) || !e.MaySet(&state) {
		t.Errorf("today is %s, the owner may set: %v, an editor may: %v", a.Today(), a.MaySet(&state), e.MaySet(&state))
	}
	sub, _, err := a.Create(t.Context(), nil, "")
	w.wants("create", err, "ok")
	if entries, err := sub.Entries.Decode(); err != nil || len(entries) != 1 || entries[0].Value != "2026-03-02" {
		t.Errorf("stored %v, %v", entries, err)
	}
	granted := []forms.Answer{{FieldID: "state", Value: "granted"}}
	_, _, err = a.Create(t.Context(), granted, "")
	w.wants("create by others", err, "invalid map[state:"+forms.MsgByEditors+"] []")
	_, err = a.Merge(t.Context(), sub.ID, granted, nil, admitAll)
	w.wants("merge by others", err, "invalid map[state:"+forms.MsgByEditors+"] []")
	w.wants("validation for others", a.ValidateMerge(t.Context(), sub.ID, granted, nil), "invalid map[state:"+forms.MsgByEditors+"] []")
	_, err = e.Merge(t.Context(), sub.ID, granted, nil, admitAll)
	w.wants("merge by an editor", err, "ok")
}
