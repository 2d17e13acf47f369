package markup

import (
	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// decisions reads who may still change a submission that was sent, and who is told. To be
// called when all fields are known.
func (r *formReader) decisions(m *yaml.Node) {
	f := r.form
	if lockIf := valueOf(m, "lockIf"); lockIf != nil {
		all := len(f.Fields)
		c := &conditionReader{owner: "the lock", key: "lockIf", node: lockIf, first: all, end: all}
		r.condition(c)
		f.LockIf = &c.Condition
	}
	f.Withdraw = r.boolean(m, "withdraw")
	if f.Withdraw && f.Anonymous {
		r.errorf(valueOf(m, "withdraw").Column, "leave out one of the two",
			"nobody could withdraw a submission of an anonymous form: who sent it is not stored")
	}
	if n := r.text(m, "submitterMail"); n != nil {
		r.submitterMail(n)
	}
}

// submitterMail reads the id of the field with the submitter's address.
func (r *formReader) submitterMail(n *yaml.Node) {
	f := r.form
	rank, known := r.rankOf(n, "submitterMail", `name a field with "validate: email"`)
	switch {
	case !known:
	case f.Anonymous:
		r.errorf(n.Column, "leave out one of the two",
			"nobody could be told about a submission of an anonymous form: who sent it is not stored")
	case f.Fields[rank].Validation != forms.Email:
		r.errorf(n.Column, `add "validate: email" to the field, or name another one`,
			"field %s may hold any text", quote(n.Value))
	case f.Fields[rank].ByEditors:
		r.errorf(n.Column, `remove "by" from the field, or name another one`,
			"submitterMail names field %s, which whoever submits can't fill in", quote(n.Value))
	default:
		f.SubmitterMail = n.Value
		r.warnOfNoMail(n, "whoever submits")
	}
}
