package pages

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// maxUnstoredKeeps bounds the memory of a KeepQueue to some 100 MB.
const maxUnstoredKeeps = 1 << 20

// KeepQueue holds the keeps of forms whose page was read, until they are stored. The zero value is empty.
type KeepQueue struct {
	mu       sync.Mutex
	unstored map[formName]unstoredKeep
	isFull   bool
}

type formName struct {
	pageID int64
	formID string
}

// unstoredKeep has the longest and the last keep that were read. Others make no difference to the stored keep.
type unstoredKeep struct{ longest, last forms.Period }

// AddKeeps adds the forms of a page that differ from those of old, its earlier version; nil adds all.
func (q *KeepQueue) AddKeeps(old, page *Page) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unstored == nil {
		q.unstored = map[formName]unstoredKeep{}
	}
	for _, f := range page.Forms {
		if old != nil && old.Form(f.ID) == f {
			continue
		}
		name := formName{page.ID, f.ID}
		k, waits := q.unstored[name]
		if !waits {
			k.longest = f.Keep
			if q.isFull = q.isFull || len(q.unstored) == maxUnstoredKeeps; q.isFull {
				return
			}
		}
		q.unstored[name] = unstoredKeep{k.longest.Longer(f.Keep, time.Now()), f.Keep}
	}
}

// StoreKeeps implements Source.
func (q *KeepQueue) StoreKeeps(store func(pageID int64, formID string, keep forms.Period) error) error {
	q.mu.Lock()
	unstored, isFull := maps.Clone(q.unstored), q.isFull
	q.mu.Unlock()
	for name, k := range unstored {
		err := store(name.pageID, name.formID, k.longest)
		if err == nil && k.last != k.longest {
			err = store(name.pageID, name.formID, k.last)
		}
		if err != nil {
			return err
		}
		q.mu.Lock()
		if q.unstored[name] == k {
			delete(q.unstored, name)
		}
		q.mu.Unlock()
	}
	if isFull {
		return errors.New("too many forms were read while keeps could not be stored: start the server again")
	}
	return nil
}
