package events

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	maxMailed  = 10  // mails to an address, and of a sender, per form and interval: see sendLimited
	maxAddress = 254 // bytes of an address: what mail servers take
)

var errUnread = errors.New("the submission can't be read")

// tellSubmitter sends one mail about the events of a submission to its submitter. e is the
// last event. The address is the current answer to a field: fields are its ids, a line
// each, of which the first that is stored counts. No mail is sent if the submission is gone, or
// if the answer is not an address that gets mail.
func (d *Dispatcher) tellSubmitter(ctx context.Context, e store.Event, fields string, m Mail) error {
	sub, err := d.Store.Get(ctx, store.Key{PageID: e.PageID, FormID: e.FormID, ID: e.Submission})
	if errors.Is(err, store.ErrNotFound) || err == nil && sub.Username == "" { // they could not open it
		return nil
	}
	entries, decodeErr := sub.Entries.Decode()
	if err != nil || decodeErr != nil {
		return errUnread
	}
	m.To = ""
	answers := forms.EntryValues(entries)
	for _, id := range slices.Backward(strings.Split(fields, "\n")) {
		if answer, found := answers[id]; found {
			m.To = answer
		}
	}
	m.Submission, m.Changed = e.Submission, e.Type == store.SubmissionUpdated
	if !forms.IsEmail(m.To) || len(m.To) > maxAddress || !d.Listeners.mail.Allows(m.To) {
		return nil
	}
	return d.sendLimited(ctx, e.Queue, sub.Username, m)
}

// sendLimited sends a mail unless there were enough: of arrivals to the address or by the sender, or of decisions to
// the address. So submissions of others with an address can't use up its mails of decisions.
func (d *Dispatcher) sendLimited(ctx context.Context, q store.Queue, sender string, m Mail) error {
	limits := []string{"arrivals to " + mailbox(m.To), "arrivals by " + sender}
	if m.Changed {
		limits = []string{"decisions to " + mailbox(m.To)}
	}
	delay := time.Duration(0)
	for _, limit := range limits {
		slot, err := d.reserve(ctx, q, limit, maxMailed)
		if err != nil {
			return err
		}
		if slot.Token == 0 {
			return d.tellDropped(ctx, q, m)
		}
		defer func() { d.settleSlot(ctx, slot, delay) }() // of one or two
	}
	err := d.Listeners.mail.Send(ctx, m)
	if refused, ok := errors.AsType[noRecipient](err); ok { // to try again would not help
		d.Log.Warn("a mail to a submitter was refused", "page", m.PageID, "form", m.FormID, "error", refused)
		err = nil
	}
	if err == nil {
		delay = d.NotifyInterval
	}
	return err
}

// tellDropped logs once in the interval that there were enough mails.
func (d *Dispatcher) tellDropped(ctx context.Context, q store.Queue, m Mail) error {
	slot, err := d.reserve(ctx, q, "dropped", 1)
	if slot.Token != 0 {
		d.Log.Warn("mails to submitters are dropped: there were enough in this interval", "page", m.PageID, "form", m.FormID)
		d.settleSlot(ctx, slot, d.NotifyInterval)
	}
	return err
}

func (d *Dispatcher) settleSlot(ctx context.Context, slot store.Lease, delay time.Duration) {
	d.note(ctx, d.Store.SettleQueue(ctx, slot, store.Settlement{Delay: delay}))
}

// reserve leases a slot of a limit; there is none without Token. Each mail delays a slot for the interval. Slots are
// queues without events: all servers see them, and they are removed like others that are due and empty.
func (d *Dispatcher) reserve(ctx context.Context, q store.Queue, limit string, most int) (slot store.Lease, err error) {
	hash := sha256.Sum256([]byte(limit)) // an answer is stored with its submission only
	for n := 0; n < most && slot.Token == 0; n++ {
		if slot, err = d.Store.ReserveQueue(ctx, q, fmt.Sprintf("%x %d", hash, n), d.tune.lease); err != nil {
			return slot, errUnread
		}
	}
	return slot, nil
}

// mailbox is an address as it is counted: in lower case, and without a tag, as in ann+tag@example.org.
func mailbox(address string) string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}
