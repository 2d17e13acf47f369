package events

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	maxPerAddress = 10  // mails to an address that submissions have, per form and interval
	maxAddress    = 254 // bytes of it: what mail servers take
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
	return d.sendLimited(ctx, e.Queue, m)
}

// sendLimited sends a mail unless its address has had enough. Each mail delays one of
// maxPerAddress queues, which have no events, for the interval: all servers see them, and
// they are removed like others that are due and empty.
func (d *Dispatcher) sendLimited(ctx context.Context, q store.Queue, m Mail) error {
	address := sha256.Sum256([]byte(strings.ToLower(m.To))) // an answer is stored with its submission only
	for n := range maxPerAddress {
		slot, err := d.Store.ReserveQueue(ctx, q, fmt.Sprintf("%x %d", address, n), d.tune.lease)
		if err != nil {
			return errUnread
		}
		if slot.Token == 0 {
			continue
		}
		err = d.Listeners.mail.Send(ctx, m)
		if refused, ok := errors.AsType[noRecipient](err); ok { // to try again would not help
			d.Log.Warn("a mail to a submitter was refused", "page", m.PageID, "form", m.FormID, "error", refused)
			err = nil
		}
		var s store.Settlement
		if err == nil {
			s.Delay = d.NotifyInterval
		}
		d.note(ctx, d.Store.SettleQueue(ctx, slot, s))
		return err
	}
	return nil
}
