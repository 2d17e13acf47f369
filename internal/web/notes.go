package web

import (
	"slices"
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
	Closed    string // why the form takes no submissions, as far as ClosedAt does not say it; "" while it does
	ClosedAt  time.Time
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
	Wiki      bool // who may edit the page in the wiki
	Names     []string
	More      int // names that are left out
}

// maxReaders is how many readers of a form are named.
const maxReaders = 5

func newAudience(access *service.Access) *audience {
	readers := access.Readers()
	if readers == nil {
		return &audience{Everybody: !access.InWiki(), Wiki: access.InWiki()}
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
		Anonymous: access.Form.Anonymous, Once: access.Form.OneSubmission, Audience: newAudience(access), Lang: access.Lang(),
	}
	available, err := access.Availability(c.Context())
	if err != nil {
		return n, err
	}
	switch {
	case !available.At.IsZero():
		n.Closed, n.ClosedAt = upperFirst(available.Lead), available.At
	case available.Reason != "":
		n.Closed = upperFirst(available.Reason)
	case !available.Closes.IsZero():
		n.Until = &until{Day: access.Form.Closes.Day, Zone: available.Closes.Location().String(), Time: available.Closes}
	}
	if n.Anonymous && n.Once {
		n.Submitted, err = access.Submitted(c.Context())
	}
	return n, err
}

// Problems is what is wrong with a page, for its editors: the messages of check.
type Problems []markup.Diagnostic

// Broken reports whether something that they wrote is not in force.
func (p Problems) Broken() bool {
	return slices.ContainsFunc(p, func(d markup.Diagnostic) bool { return d.Severity == markup.Error })
}
