package events

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// request is a form whose only answer of submitters is their address.
func request(id string) *forms.Form {
	return &forms.Form{PageID: 1, ID: id, Title: "Leave", SubmitterMail: "text", Fields: []*forms.Field{{ID: "text"}, {ID: "state", ByEditors: true}}}
}

// updates changes an answer, and the address to another one.
func (f *fixture) updates(form *forms.Form, id int64, address, field string) {
	f.t.Helper()
	_, err := f.store.Update(f.t.Context(), store.Key{PageID: 1, FormID: form.ID, ID: id}, func(forms.Submission) (store.Change, error) {
		return store.Change{
			Entries: []forms.Entry{{FieldID: "text", Value: address}, {FieldID: "state", Value: "answer-granted"}}, Changed: time.Now(),
			Events: f.listeners.Events(form, "de", false, store.SubmissionUpdated, time.Now(), map[string]string{field: ""}),
		}, nil
	})
	testkit.Must(f.t, err)
}

// TestSubmitterEvents: a new submission is told, and a change of what only editors answer.
func TestSubmitterEvents(t *testing.T) {
	l := listeners(t, "", &fakeMail{})
	for _, tt := range []struct {
		eventType string
		before    map[string]string
		want      int
	}{
		{store.SubmissionCreated, nil, 1},
		{store.SubmissionUpdated, map[string]string{"text": ""}, 0},
		{store.SubmissionUpdated, map[string]string{"text": "", "state": "open", "gone": ""}, 1},
		{store.SubmissionUpdated, map[string]string{"gone": ""}, 0},
		{store.SubmissionDeleted, nil, 0},
	} {
		got := l.Events(request("a"), "", false, tt.eventType, time.Now(), tt.before)
		if len(got) != tt.want || tt.want == 1 && (got[0].Recipient != " text" || got[0].Hook != store.MailHook || got[0].Title != "Leave") {
			t.Errorf("%s %v: %+v", tt.eventType, tt.before, got)
		}
	}
	if got := listeners(t, "", nil).Events(request("a"), "", false, store.SubmissionCreated, time.Now(), nil); got != nil {
		t.Errorf("without mail: %+v", got)
	}
	plain := &forms.Form{PageID: 1, ID: "a"}
	testkit.Same(t, "a form without the key: allocations", testing.AllocsPerRun(100, func() { l.Events(plain, "", false, store.SubmissionCreated, time.Time{}, nil) }), 0)
}

// TestSubmitterMail: what happens within the interval is told once after it, to the address
// that the submission has then.
func TestSubmitterMail(t *testing.T) { enginetest.Each(t, testSubmitterMail) }

func testSubmitterMail(t *testing.T, on enginetest.Engine) {
	f := open(t, on, entry("crm", "pages: [9]"))
	form := request("a")
	d := f.dispatcher()
	d.NotifyInterval = 500 * time.Millisecond
	stop := f.runs(d)
	sub := f.createsAt(form, "someone", "ann@example.org", time.Now())
	f.settles("mail", 0)
	stop()
	f.updates(form, sub.ID, "new@example.org", "state")
	f.updates(form, sub.ID, "New@example.org", "state")
	f.runs(d)
	other := f.createsAt(form, "someone", "ann@example.org", time.Now()) // does not wait for the first
	f.settles("mail", 0)
	m := Mail{To: "ann@example.org", Title: "Leave", Lang: "de", PageID: 1, FormID: "a", Count: 1, Submission: sub.ID}
	second, third := m, m
	second.Submission = other.ID
	third.To, third.Count, third.Changed = "New@example.org", 2, true
	bySubmission := cmpopts.SortSlices(func(a, b Mail) bool { return fmt.Sprint(a.Submission, a.Changed) < fmt.Sprint(b.Submission, b.Changed) })
	testkit.Diff(t, "", f.mail.sent(), []Mail{m, third, second}, bySubmission)
}

// TestNoSubmitterMail: who gets no mail does not hold up anything, and is no failure.
func TestNoSubmitterMail(t *testing.T) {
	f := open(t, enginetest.Default(), entry("crm", "pages: [9]"))
	for _, address := range []string{
		"", "ann@elsewhere.example", "ann", "a@example.org\r\nBcc: b@example.org", "a@example.org, b@example.org", " a@example.org",
		strings.Repeat("x", maxAddress) + "@example.org",
	} {
		f.createsAt(request("a"), "someone", address, time.Now())
	}
	f.createsAt(request("a"), "", "anonymous@example.org", time.Now())
	gone := f.createsAt(request("a"), "someone", "gone@example.org", time.Now())
	testkit.Must(t, f.store.Delete(t.Context(), store.Key{PageID: 1, FormID: "a", ID: gone.ID}, nil))
	f.runs(f.dispatcher())
	f.settles("mail", 0)
	if sent := f.mail.sent(); len(sent) > 0 {
		t.Errorf("sent %+v", sent)
	}
}

// TestSubmitterMailLimit: an address gets 10 mails of arrivals and 10 of decisions per form, whatever its case and tag,
// and a sender causes 10, by all servers together. What is beyond is dropped, and logged once.
func TestSubmitterMailLimit(t *testing.T) { enginetest.Each(t, testSubmitterMailLimit) }

func testSubmitterMailLimit(t *testing.T, on enginetest.Engine) {
	f := open(t, on, entry("crm", "pages: [9]"))
	for i := range 2 * maxMailed {
		user := fmt.Sprint("user", i)
		f.createsAt(request("a"), user, []string{"ann@example.org", "ANN@example.org", fmt.Sprintf("ann+%d@example.org", i)}[i%3], time.Now())
		f.updates(request("a"), f.createsAt(request("a"), user, "", time.Now()).ID, "ann@example.org", "state")
		f.createsAt(request("a"), "flooder", fmt.Sprintf("victim%d@example.org", i), time.Now())
	}
	f.createsAt(request("a"), "someone", "bea@example.org", time.Now())
	f.createsAt(request("b"), "someone", "ann@example.org", time.Now())
	f.runs(f.dispatcher())
	f.runs(f.dispatcher())
	f.settles("mail", 0)
	sent := map[string]int{}
	for _, m := range f.mail.sent() {
		key := m.FormID + " " + strings.TrimRight(strings.TrimSuffix(mailbox(m.To), "@example.org"), "0123456789")
		if m.Changed {
			key += " decided"
		}
		sent[key]++
	}
	want := map[string]int{"a ann": maxMailed, "a ann decided": maxMailed, "a victim": maxMailed, "a bea": 1, "b ann": 1}
	testkit.Diff(t, "", sent, want)
	if n := strings.Count(f.log.String(), "mails to submitters are dropped"); n != 1 || strings.Contains(f.log.String(), "@") {
		t.Errorf("logged %d times:\n%s", n, f.log)
	}
}

// TestSubmitterMailFails: a mail that was not sent is tried again and does not count, unless
// its recipient is refused for good.
func TestSubmitterMailFails(t *testing.T) {
	f := open(t, enginetest.Default(), entry("crm", "pages: [9]"))
	f.mail.fails(errors.New("the server is down"))
	f.createsAt(request("a"), "someone", "ann@example.org", time.Now())
	stop := f.runs(f.dispatcher())
	testkit.Eventually(t, "more attempts than mails are allowed", func() bool { return len(f.mail.sent()) > maxMailed })
	f.mail.fails(noRecipient(550))
	f.settles("mail", 0)
	attempts := len(f.mail.sent())
	f.createsAt(request("a"), "someone", "bea@example.org", time.Now())
	f.settles("mail", 0)
	stop()
	if len(f.mail.sent()) != attempts+1 || strings.Contains(f.log.String(), "@") ||
		!strings.Contains(f.log.String(), `a mail to a submitter was refused" page=1 form=a error="the mail server refused the recipient (550)"`) {
		t.Errorf("%d attempts, then %d\n%s", attempts, len(f.mail.sent()), f.log)
	}
}

// A recipient is refused for good by a code from 500 on.
func TestMailRefusedRecipient(t *testing.T) {
	for code, forGood := range map[int]bool{550: true, 450: false} {
		addr := listen(t, func(conn net.Conn) { answer(conn, "220 hello", "250 hello", "250 ok", fmt.Sprint(code, " no")) })
		err := newMailer(t, mailOptions("smtp://"+addr), nil).Send(t.Context(), leave(1))
		_, refused := errors.AsType[noRecipient](err)
		if want := fmt.Sprintf("the mail server refused the recipient (%d)", code); refused != forGood || fmt.Sprint(err) != want {
			t.Errorf("%d: %v, %v", code, err, refused)
		}
	}
}
