package web

import "github.com/formulary/formulary/internal/forms"

// setView is the buttons that set an answer which editors give, each with one press.
// They send a change of that answer alone.
type setView struct {
	FieldID, Action, Tag, For string
	Status                    bool
	Options                   []choice
}

// maxSetOptions is how many buttons an answer has at most. With more options, it is
// changed like all others.
const maxSetOptions = 20

// setOf returns nil for what the caller does not set with one press.
func (st stored) setOf(field *forms.Field, value string, shown bool) *setView {
	options := len(field.Options)
	if !field.ByEditors || !st.access.MayEdit() || !shown || field.MultiValue() || options == 0 || options > maxSetOptions {
		return nil
	}
	view := &setView{
		FieldID: field.ID, Action: st.at("/change"), Tag: st.access.Tag(st.sub), For: st.forUser, Status: field.Type == forms.Status,
	}
	for _, o := range field.Options {
		view.Options = append(view.Options, choice{Value: o, Chosen: o == value, Tone: toneOf(field, o)})
	}
	return view
}
