package web

import (
	"strings"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/service"
)

// Notes are what a page says about a form before its questions.
type Notes struct {
	Notice    string
	Anonymous bool
	Once      bool
	Submitted bool   // an anonymous form that takes one submission has it
	Closed    string // why the form takes no submissions; "" while it does
	Until     *until // nil if it does not close
	Audience  *audience
	Lang      string
}

// until is when a form closes: a day, to its end, or a time.
type until struct {
	Day, Zone string
	Time      time.Time
}

// audience is who reads the answers to a form.
type audience struct {
	Everybody bool // who may view the page
	Names     []string
	More      int // names that are left out
}

// maxReaders is how many readers of a form are named.
const maxReaders = 5

func newAudience(readers *markup.Principals) *audience {
	if readers == nil {
		return &audience{Everybody: true}
	}
	var names []string
	for _, group := range readers.Groups {
		names = append(names, "@"+strings.TrimPrefix(group, "@"))
	}
	names = append(names, readers.Users...)
	shown := min(len(names), maxReaders)
	return &audience{Names: names[:shown], More: len(names) - shown}
}

// notes are those about a form for somebody who wants to fill it in.
func (c *call) notes(access *service.Access) (Notes, error) {
	n := Notes{
		Anonymous: access.Form.Anonymous, Once: access.Form.OneSubmission, Audience: newAudience(access.Readers()), Lang: access.Lang(),
	}
	available, err := access.Availability(c.Context())
	if err != nil {
		return n, err
	}
	switch {
	case available.Reason != "":
		n.Closed = upperFirst(available.Reason) + "."
	case !available.Closes.IsZero():
		n.Until = &until{Day: access.Form.Closes.Day, Zone: available.Closes.Location().String(), Time: available.Closes}
	}
	if n.Anonymous && n.Once {
		n.Submitted, err = access.Submitted(c.Context())
	}
	return n, err
}

// problemsOf are the mistakes on a page that editors have to see: those that keep
// something that they wrote from being in force.
func problemsOf(all []markup.Diagnostic) (list []markup.Diagnostic) {
	for _, d := range all {
		if d.Severity == markup.Error {
			list = append(list, d)
		}
	}
	return list
}
