package markup

import "go.yaml.in/yaml/v4"

// decisions reads who may still change a submission that was sent. To be called when all
// fields are known.
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
}
