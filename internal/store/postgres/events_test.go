package postgres

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
)

// Failed events are queued again by statements of a bounded size, however many there are.
func TestRetryInParts(t *testing.T) {
	url := database(t)
	s := openStore(t, url)
	failed := make([]store.Event, 2500)
	for i := range failed {
		failed[i] = store.Event{
			Queue: store.Queue{Hook: "crm", PageID: 1, FormID: "form"}, Submission: 1, Type: store.SubmissionCreated,
			Created: time.UnixMilli(1), Failed: time.UnixMilli(2), Error: "answered 500",
		}
	}
	if err := s.LoadEvents(ctx, failed); err != nil {
		t.Fatal(err)
	}
	exec(t, url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM changed) > 1000 THEN RAISE EXCEPTION 'too many at a time'; END IF;
			RETURN NULL;
		END $$`)
	exec(t, url, `CREATE TRIGGER refuse AFTER UPDATE ON events REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION refuse()`)
	if n, err := s.RetryEvents(ctx, []string{"crm"}); n != 2500 || err != nil {
		t.Errorf("%d retried, %v", n, err)
	}
}
