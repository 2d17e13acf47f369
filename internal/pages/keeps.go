package pages

import (
	"maps"
	"sync"

	"github.com/formulary/formulary/internal/forms"
)

// KeepQueue holds the keeps of forms whose page was read, until they are stored. The zero value is empty.
type KeepQueue struct {
	mu       sync.Mutex
	unstored map[formName][]forms.Period // in the order in which they were read
}

type formName struct {
	pageID int64
	formID string
}

// AddKeeps adds the forms of a page that differ from those of old, its earlier version; nil adds all.
func (q *KeepQueue) AddKeeps(old, page *Page) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unstored == nil {
		q.unstored = map[formName][]forms.Period{}
	}
	for _, f := range page.Forms {
		name := formName{page.ID, f.ID}
		keeps := q.unstored[name]
		same := old != nil && old.Form(f.ID) == f || len(keeps) > 0 && keeps[len(keeps)-1] == f.Keep
		if !same {
			q.unstored[name] = append(keeps, f.Keep)
		}
	}
}

// StoreKeeps implements Source.
func (q *KeepQueue) StoreKeeps(store func(pageID int64, formID string, keep forms.Period) error) error {
	q.mu.Lock()
	unstored := maps.Clone(q.unstored)
	q.mu.Unlock()
	for name, keeps := range unstored {
		for _, keep := range keeps {
			if err := store(name.pageID, name.formID, keep); err != nil {
				return err
			}
		}
		q.mu.Lock()
		if q.unstored[name] = q.unstored[name][len(keeps):]; len(q.unstored[name]) == 0 {
			delete(q.unstored, name)
		}
		q.mu.Unlock()
	}
	return nil
}
