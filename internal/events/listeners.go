package events

import (
	"context"
	"crypto/rand"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/store"
)

// Mail is a mail to one recipient. It has the number of new submissions of a form, or it tells
// a submitter that their submission was stored or changed. Without a form it is a test.
type Mail struct {
	To, Title  string
	Lang       string // language tag of the form's page; "" if it has none
	PageID     int64
	FormID     string
	Count      int
	Submission int64 // 0 unless the recipient is its submitter
	Changed    bool
}

// MailSender sends mails to the addresses that it allows. Its errors show no address.
type MailSender interface {
	Send(ctx context.Context, m Mail) error
	Allows(address string) bool
}

// Listeners are the hooks of a file, which is read again when it changes, and the
// addresses that forms name.
type Listeners struct {
	file    string
	mail    MailSender
	log     *slog.Logger
	hooks   atomic.Pointer[[]Hook]
	watcher *reload.Watcher
}

// OpenListeners reads the hooks of a file; "" is none. Without mail, which may be nil,
// only hooks are told.
func OpenListeners(file string, mail MailSender, log *slog.Logger) (*Listeners, error) {
	l := &Listeners{file: file, mail: mail, log: log}
	l.hooks.Store(&[]Hook{})
	l.watcher = reload.New("hooks file", log, l.look, l.load)
	return l, l.load(nil, true)
}

func (l *Listeners) look() reload.State {
	paths := []string{l.file}
	for _, h := range *l.hooks.Load() {
		if h.secretFile != "" {
			paths = append(paths, h.secretFile)
		}
	}
	return reload.Stats(paths...)
}

// load replaces the hooks, unless there is a mistake in the file.
func (l *Listeners) load(reload.State, bool) error {
	if l.file == "" {
		return nil
	}
	hooks, err := LoadHooks(l.file)
	if err == nil && !reflect.DeepEqual(hooks, *l.hooks.Swap(&hooks)) {
		l.log.Info("hooks file read", "file", l.file, "hooks", len(hooks))
	}
	return err
}

// Watch reads the file again when it or a file with a secret changes, until ctx ends.
// Without a file there is nothing to watch.
func (l *Listeners) Watch(ctx context.Context) {
	if l.file != "" {
		l.watcher.Run(ctx)
	}
}

// Reload reads the file now. It returns when that is done, or when ctx ends.
func (l *Listeners) Reload(ctx context.Context) { l.watcher.Reload(ctx) }

// Events returns an event for each listener, to be stored with a change of a submission.
// Of an update, before has the values that it changes. pageLang is the language tag of the form's page, or "".
// It allocates nothing if there are none.
func (l *Listeners) Events(
	form *forms.Form, pageLang string, anonymous bool, eventType string, at time.Time, before map[string]string,
) (list []store.Event) {
	tell := func(hook, recipient string) {
		event := store.Event{Type: eventType, Created: at, Anonymous: anonymous, Message: rand.Text()}
		if event.Hook, event.Recipient = hook, recipient; recipient != "" {
			event.Title, event.Language = form.Title, pageLang
		}
		list = append(list, event)
	}
	for _, h := range *l.hooks.Load() {
		if has(h.pages, form.PageID) && has(h.forms, form.ID) && has(h.events, eventType) {
			tell(h.Name, "")
		}
	}
	if l.mail == nil {
		return list
	}
	created := eventType == store.SubmissionCreated
	if form.SubmitterMail != "" && (created || form.ChangesByEditors(before)) {
		tell(store.MailHook, " "+strings.Join(form.Field(form.SubmitterMail).IDs(), "\n"))
	}
	if !created {
		return list
	}
	for _, address := range form.Notify {
		if l.mail.Allows(address) {
			tell(store.MailHook, address)
		}
	}
	return list
}

// has reports whether a list has a value. Nil has all.
func has[T comparable](list []T, value T) bool { return list == nil || slices.Contains(list, value) }
