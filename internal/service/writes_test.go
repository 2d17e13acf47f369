package service

import (
	"strconv"
	"testing"

	"github.com/formulary/formulary/internal/forms"
)

// A write to a form is counted there, and hardly elsewhere.
func TestWritesAreCountedByForm(t *testing.T) {
	w := newWorld(t)
	const others = 100
	counts := func() (written uint64, other [others]uint64) {
		for i := range other {
			form := &forms.Form{PageID: 1, ID: strconv.Itoa(i)}
			other[i] = (&Access{service: w.Service, Form: form}).Writes()
		}
		return w.as(owner, "named").Writes(), other
	}
	before, otherBefore := counts()
	w.submits(owner, "named", "x")
	after, otherAfter := counts()
	changed := 0
	for i := range otherBefore {
		if otherBefore[i] != otherAfter[i] {
			changed++
		}
	}
	if before == after || changed > others/2 {
		t.Errorf("the count was %d and is %d; %d of %d others have changed", before, after, changed, others)
	}
}
