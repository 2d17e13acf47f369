package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/sqlite"
)

// startReceiver starts a receiver of webhooks, and writes its address into files, in place of RECEIVER.
// It answers with the status that the path names.
func startReceiver(ts *testscript.TestScript, _ bool, files []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil || r.Header.Get("webhook-signature") == "" {
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("what the receiver says"))
	}))
	ts.Defer(s.Close)
	for _, file := range files {
		text := strings.ReplaceAll(ts.ReadFile(file), "RECEIVER", s.URL)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// makeEvents makes a store with events in a directory: of crm, of old and a mail.
func makeEvents(ts *testscript.TestScript, _ bool, args []string) {
	s, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), sqlite.Options{})
	ts.Check(err)
	now := time.Now()
	event := func(hook, recipient, problem string, age time.Duration) store.Event {
		e := store.Event{
			Queue: store.Queue{Hook: hook, Recipient: recipient, PageID: 1, FormID: "note"}, Submission: 1, Type: store.SubmissionCreated,
			Created: now.Add(-age), Message: hook, Error: problem,
		}
		if problem != "" {
			e.Failed = now
		}
		return e
	}
	ts.Check(s.LoadEvents(context.Background(), []store.Event{
		event("crm", "", "answered 503", 80*time.Hour), event("crm", "", "answered 503", 79*time.Hour), event("crm", "", "", 26*time.Hour+10*time.Minute),
		event("old", "", "", time.Minute), event(store.MailHook, "hr@example.org", "the mail server refused it", time.Hour),
	}))
	ts.Check(s.Close())
}

// submit stores a submission to a form on then/PAGE.md, or to one that is not known: submit DIR PAGE FORM USER ID=VALUE…
func submit(ts *testscript.TestScript, _ bool, args []string) {
	s, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), sqlite.Options{})
	ts.Check(err)
	page, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	n := store.New{PageID: page, FormID: args[2], Username: args[3], Created: time.Now()}
	if then, _, err := pages.Read(ts.MkAbs("then/"+args[1]+".md"), nil); err == nil {
		for _, b := range then.Blocks {
			if b.FormID == n.FormID {
				n.Definition = b.Form.Definition()
			}
		}
	}
	for _, answer := range args[4:] {
		id, value, _ := strings.Cut(answer, "=")
		n.Entries = append(n.Entries, forms.Entry{FieldID: id, Value: value})
	}
	_, err = s.Create(context.Background(), n)
	ts.Check(err)
	ts.Check(s.Close())
}
