package web

import (
	"fmt"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/forms"
)

// emptyForms keeps the questions of forms that nobody has filled in yet, as
// they are rendered. They are the same for everybody, and to render them takes
// longer than all else that a form page needs.
type emptyForms struct {
	flights singleflight.Group // a form is rendered once for all who ask for it meanwhile

	mu    sync.Mutex
	kept  map[emptyForm]Questions
	bytes int
}

// emptyForm is a form as it stands on its page now: a form that is edited is
// another value.
type emptyForm struct {
	form *forms.Form
	id   string // prefix of the ids of its elements
}

// maxKeptForms bounds what is kept, in bytes.
const maxKeptForms = 8 << 20

func (e *emptyForms) get(key emptyForm, render func() (Questions, error)) (Questions, error) {
	if q, known := e.find(key); known {
		return q, nil
	}
	q, err, _ := e.flights.Do(fmt.Sprintf("%p %s", key.form, key.id), func() (any, error) {
		if q, known := e.find(key); known { // since a moment ago
			return q, nil
		}
		q, err := render()
		if err == nil {
			e.keep(key, q)
		}
		return q, err
	})
	return q.(Questions), err
}

func (e *emptyForms) find(key emptyForm) (Questions, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, known := e.kept[key]
	return q, known
}

func (e *emptyForms) keep(key emptyForm, q Questions) {
	e.mu.Lock()
	defer e.mu.Unlock()
	size := len(q.HTML) + len(q.Definition)
	if e.bytes += size; e.kept == nil || e.bytes > maxKeptForms {
		e.kept, e.bytes = map[emptyForm]Questions{}, size
	}
	if size <= maxKeptForms {
		e.kept[key] = q
	}
}
