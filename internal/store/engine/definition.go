package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// The statements of definitions. Page, form and hash are $1 to $3.
const (
	SQLDefinition = `SELECT definition FROM definitions WHERE page_id = $1 AND form_id = $2 AND hash = $3`

	// SQLStoreDefinition stores the text $4, or only says that it is in use.
	SQLStoreDefinition = `INSERT INTO definitions (page_id, form_id, hash, stored, definition) VALUES ($1, $2, $3, {now}, $4)
		ON CONFLICT (page_id, form_id, hash) DO UPDATE SET stored = excluded.stored`

	sqlFormDefinitions = `SELECT definition FROM definitions WHERE page_id = $1 AND form_id = $2
		ORDER BY stored DESC LIMIT 100`

	sqlSweepDefinitions = `DELETE FROM definitions WHERE stored < {now} - $1 AND `
)

const (
	// rememberDefinition is how long a definition is known to be stored. It is much shorter than keepDefinition.
	rememberDefinition = 10 * time.Minute
	// keepDefinition is how long a definition stays that no submission uses.
	keepDefinition = 24 * time.Hour
	// maxRemembered bounds the memory of Definitions to some megabytes.
	maxRemembered = 10_000
)

// Definitions implements what store.Store does with definitions.
type Definitions struct {
	DB Database
	// SQLOfSubmission selects the text of the definition of a submission: $1 to $3 are page, form and id.
	SQLOfSubmission string
	// SQLUnused is the condition that the form of a definition has no submissions.
	SQLUnused string

	flights singleflight.Group // of concurrent creates, one stores a definition
	mu      sync.Mutex
	stored  map[definitionName]time.Time // when, by the clock on the wall
}

// unknown is the hash of no definition.
var unknown [16]byte

type definitionName struct {
	pageID int64
	formID string
	hash   [16]byte
}

// Definition implements store.Store.
func (s *Definitions) Definition(ctx context.Context, key store.Key) (forms.Definition, error) {
	return readDefinition(ctx, s.DB, s.SQLOfSubmission, key.PageID, key.FormID, key.ID)
}

// FormDefinitions implements store.Store.
func (s *Definitions) FormDefinitions(
	ctx context.Context, pageID int64, formID string,
) (list []forms.Definition, err error) {
	err = s.DB.Query(ctx, func(next Next) {
		list = nil
		for text := ""; next(&text); {
			list = append(list, forms.NewDefinition(text))
		}
	}, sqlFormDefinitions, pageID, formID)
	return list, Wrap(err, "read the definitions of a form")
}

// StoreDefinition stores the definition of a new submission, before its create. It stays for keepDefinition at least.
func (s *Definitions) StoreDefinition(ctx context.Context, n *store.New) error {
	name, now := definitionName{n.PageID, n.FormID, n.Definition.Hash}, time.Now().Round(0)
	if name.hash == unknown {
		return nil
	}
	s.mu.Lock()
	if s.stored == nil || len(s.stored) >= maxRemembered {
		s.stored = map[definitionName]time.Time{}
	}
	stored := s.stored // ForgetDefinitions forgets also what is added to it later
	isStored := now.Sub(stored[name]) < rememberDefinition
	s.mu.Unlock()
	if isStored {
		return nil
	}
	_, err, _ := s.flights.Do(fmt.Sprint(name), func() (any, error) {
		ctx := context.WithoutCancel(ctx) // others wait for it
		_, err := s.DB.Exec(ctx, SQLStoreDefinition, n.PageID, n.FormID, name.hash[:], n.Definition.Text)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			stored[name] = now
		}
		return nil, err
	})
	return Wrap(err, "store a definition")
}

// ForgetDefinitions must be called after definitions in use may have been removed.
func (s *Definitions) ForgetDefinitions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = nil
}

// SweepDefinitions implements store.Store.
func (s *Definitions) SweepDefinitions(ctx context.Context) error {
	_, err := s.DB.Exec(ctx, sqlSweepDefinitions+s.SQLUnused, keepDefinition.Milliseconds())
	return Wrap(err, "remove definitions")
}

// LoadDefinitions returns the statements that store the definitions of records.
func LoadDefinitions(records []store.Record) (all []Statement) {
	last := definitionName{}
	for i := range records {
		r := &records[i]
		name := definitionName{r.PageID, r.FormID, r.Definition.Hash}
		if name != last && name.hash != unknown {
			all = append(all, NewStatement(SQLStoreDefinition, r.PageID, r.FormID, name.hash[:], r.Definition.Text))
		}
		last = name
	}
	return all
}

func readDefinition(ctx context.Context, db Querier, sql string, args ...any) (forms.Definition, error) {
	text := ""
	if err := QueryRow(ctx, db, []any{&text}, sql, args...); err != nil {
		return forms.Definition{}, Wrap(err, "read a definition")
	}
	return forms.NewDefinition(text), nil
}

// RecordReader returns a function that completes a record of a dump, which has the hash of its definition. Most have
// the definition of the one before, which is not read again.
func RecordReader(ctx context.Context, db Querier) func(*store.Record) error {
	last, lastName := forms.Definition{}, definitionName{}
	return func(r *store.Record) (err error) {
		r.Open = func(f forms.StoredFile) io.ReadCloser { return OpenContent(ctx, f, db, func() {}) }
		if name := (definitionName{r.PageID, r.FormID, r.Definition.Hash}); name.hash != unknown {
			if name != lastName {
				lastName = name
				last, err = readDefinition(ctx, db, SQLDefinition, r.PageID, r.FormID, name.hash[:])
			}
			if errors.Is(err, store.ErrNotFound) || err == nil && last.Hash != name.hash {
				err = fmt.Errorf("the database is damaged: submission %d has lost the definition of its form", r.ID)
			}
			r.Definition = last
		}
		if err == nil && r.IsChanged() {
			r.History, err = ReadHistory(ctx, db, r.ID)
		}
		return err
	}
}
