package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// listeners makes listeners without a store.
func listeners(t *testing.T, hooks string, mail MailSender) *Listeners {
	t.Helper()
	file := ""
	if hooks != "" {
		file = writeHooks(t, "hooks:\n"+hooks)
	}
	l, err := OpenListeners(file, mail, newLog(&logBuffer{}))
	testkit.Must(t, err)
	return l
}

// entry is a hook that is never called.
func entry(name string, more ...string) string {
	return fmt.Sprintf("- name: %s\n  url: http://a\n  secret: %s\n  %s\n", name, testSecret, strings.Join(more, "\n  "))
}

func TestEvents(t *testing.T) {
	l := listeners(t, entry("all")+entry("page", "pages: [7, 8]")+entry("form", "forms: [a, b]")+entry("both", "pages: [7]", "forms: [b]")+
		entry("deletes", "events: [submission.deleted]")+entry("changes", "events: [submission.created, submission.updated]"), &fakeMail{})
	at := time.Now()
	for _, test := range []struct {
		page      int64
		form      string
		eventType string
		want      []string
	}{
		{7, "a", store.SubmissionCreated, []string{"all", "page", "form", "changes", "mail"}},
		{7, "b", store.SubmissionUpdated, []string{"all", "page", "form", "both", "changes"}},
		{8, "b", store.SubmissionDeleted, []string{"all", "page", "form", "deletes"}},
		{9, "c", store.SubmissionCreated, []string{"all", "changes", "mail"}},
	} {
		form := &forms.Form{PageID: test.page, ID: test.form, Title: "Title", Notify: []string{"hr@example.org", "hr@elsewhere.example"}}
		var want []store.Event
		for _, hook := range test.want {
			e := store.Event{Queue: store.Queue{Hook: hook}, Type: test.eventType, Created: at, Anonymous: true}
			if hook == store.MailHook {
				e.Recipient, e.Title = "hr@example.org", "Title"
			}
			want = append(want, e)
		}
		got := l.Events(form, "", true, test.eventType, at, nil)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Event{}, "Message")); diff != "" {
			t.Errorf("%d %s %s: %s", test.page, test.form, test.eventType, diff)
		}
		messages := map[string]bool{}
		for _, e := range got {
			messages[e.Message] = true
		}
		if len(messages) != len(got) || messages[""] {
			t.Errorf("messages are not unique: %v", messages)
		}
	}
}

func TestNoListeners(t *testing.T) {
	form := &forms.Form{PageID: 1, ID: "a", Notify: []string{"hr@example.org"}}
	for name, l := range map[string]*Listeners{"no file": listeners(t, "", nil), "another page": listeners(t, entry("crm", "pages: [2]"), nil)} {
		allocated := testing.AllocsPerRun(100, func() {
			if l.Events(form, "", false, store.SubmissionCreated, time.Time{}, nil) != nil {
				t.Error("there are events")
			}
		})
		testkit.Same(t, name, allocated, 0)
	}
	l := listeners(t, "", nil)
	l.Reload(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Watch(ctx)
	none, err := OpenListeners("", nil, newLog(&logBuffer{}))
	testkit.Must(t, err)
	none.Watch(t.Context()) // returns: there is nothing to watch
}

func TestOpenListenersRefuses(t *testing.T) {
	file := writeHooks(t, "hooks: crm\n")
	if _, err := OpenListeners(file, nil, newLog(&logBuffer{})); err == nil || !strings.HasPrefix(err.Error(), file+":1: ") {
		t.Errorf("got %v", err)
	}
}

// TestWatch: changes of the file and of a secret are noticed. A mistake is logged with its
// line, and what was read last stays.
func TestWatch(t *testing.T) {
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"), r.hook("other"))
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		f.listeners.Watch(ctx)
	}()
	defer func() {
		cancel()
		<-watched
	}()
	names := func() (names []string) {
		for _, h := range *f.listeners.hooks.Load() {
			names = append(names, h.Name)
		}
		return names
	}
	f.writes(r.hook("crm"), "- name: 'not a name'\n")
	testkit.Eventually(t, "the mistake is logged", func() bool {
		return strings.Contains(f.log.String(), `level=ERROR msg="the hooks file can't be read; what was read last stays in force" error="`+f.file+`:6: name: use letters`)
	})
	if !slices.Equal(names(), []string{"crm", "other"}) {
		t.Errorf("after a mistake: %v", names())
	}
	secretFile := f.file + ".secret"
	testkit.WriteFile(t, secretFile, secretOf(24))
	f.writes("- name: third\n  url: http://a\n  secretFile: " + secretFile + "\n")
	testkit.Eventually(t, "the new file is read", func() bool { return slices.Equal(names(), []string{"third"}) })
	testkit.WriteFile(t, secretFile, secretOf(32))
	testkit.Eventually(t, "the new secret is read", func() bool { return len((*f.listeners.hooks.Load())[0].secret) == 32 })
}

// TestNewAddress: a new url and secret hold for what waits.
func TestNewAddress(t *testing.T) {
	before := newReceiver(t, func(call) int { return 500 })
	after := newReceiver(t, nil)
	after.secret = secretOf(40)
	f := open(t, enginetest.Default(), before.hook("crm"))
	f.creates("a", "1")
	f.creates("a", "2")
	f.runs(f.dispatcher())
	testkit.Eventually(t, "an attempt", func() bool { return len(before.got()) > 0 })
	f.writes(after.hook("crm"))
	f.listeners.Reload(t.Context())
	f.settles("crm", 0)
	if got := ids(after.got()); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("delivered %v", got)
	}
	testkit.Same(t, "first, then", before.got()[0], after.got()[0])
}

// TestHookLeaves: what waits for a hook that has left waits until it is back.
func TestHookLeaves(t *testing.T) {
	r, other := newReceiver(t, func(call) int { return 500 }), newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"), other.hook("other"))
	f.runs(f.dispatcher())
	f.creates("a", "1")
	testkit.Eventually(t, "an attempt", func() bool { return len(r.got()) > 0 })
	f.writes(other.hook("other"))
	f.listeners.Reload(t.Context())
	f.settles("other", 0)
	var lease store.Lease
	testkit.Eventually(t, "no attempt is under way", func() bool {
		var err error
		lease, err = f.store.LeaseQueue(t.Context(), store.Queue{Hook: "crm", PageID: 1, FormID: "a"}, time.Minute, 10)
		return err == nil && len(lease.Events) == 1
	})
	r.answers(nil)
	attempts := len(r.got())
	testkit.Must(t, f.store.SettleQueue(t.Context(), lease, store.Settlement{}))
	for range 5 { // each is found by a poll that could find what waits for the other
		f.creates("a", "2")
		f.settles("other", 0)
	}
	if c := f.count("crm"); c.Queued != 1 || len(r.got()) != attempts {
		t.Errorf("without the hook: %+v, %d attempts", c, len(r.got()))
	}
	f.writes(r.hook("crm"), other.hook("other"))
	f.listeners.Reload(t.Context())
	f.settles("crm", 0)
}
