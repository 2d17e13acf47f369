package store

import (
	"context"
	"time"
)

// Events stores what listeners are to be told of, beside Store: webhooks, and people who
// get mail. Create, Update and Delete write an event in the transaction of the change.
// The events of a queue are delivered in the order in which they were written, by one
// server at a time. What Store says about concurrent use, durability and contexts holds
// here, too.
//
// An engine compares times by its own clock, which all servers on it share.
type Events interface {
	// DueQueues returns queues of the hooks that after names, at most limit of each hook,
	// that are neither leased nor delayed. Pages take turns: at first there is one queue of
	// each page, the one that waits longest, then the next one of each. The first page is the
	// one after that in after, which had the last turn; they go round. A queue may turn out
	// to be empty. Errors: ErrUnavailable.
	DueQueues(ctx context.Context, after map[string]int64, limit int) ([]Queue, error)

	// LeaseQueue reserves a queue that is due for so long, and returns its first events,
	// at most limit. There are none, and no lease, where the queue is not due any more.
	// Of concurrent calls one gets the lease. A lease that was not settled ends by
	// itself. Errors: ErrFull, ErrUnavailable.
	LeaseQueue(ctx context.Context, q Queue, lease time.Duration, limit int) (Lease, error)

	// ReserveQueue is LeaseQueue for a queue of another recipient than q, which needs no
	// events: if there is none, it is added. q is leased by the caller. Where the queue is
	// leased or delayed, there is no lease, and Token is 0. Errors: ErrFull, ErrUnavailable.
	ReserveQueue(ctx context.Context, q Queue, recipient string, lease time.Duration) (Lease, error)

	// RemoveDelivered removes events of a leased queue before it is settled.
	// Errors: ErrFull, ErrUnavailable.
	RemoveDelivered(ctx context.Context, q Queue, ids []int64) error

	// SettleQueue ends a lease: all of the settlement is stored or nothing. If the lease
	// has run out and another server has the queue, its lease stays, and events are
	// removed or marked as failed all the same. Errors: ErrFull, ErrUnavailable.
	SettleQueue(ctx context.Context, lease Lease, s Settlement) error

	// EventCounts counts the events of every hook that has any, by name.
	// Errors: ErrUnavailable.
	EventCounts(ctx context.Context) ([]EventCount, error)

	// RetryEvents makes failed events of the named hooks wait again, and queues due that
	// are delayed after a failed attempt. It returns how many events had failed.
	// Errors: ErrFull, ErrUnavailable.
	RetryEvents(ctx context.Context, hooks []string) (failed int64, err error)

	// DiscardEvents removes all events of the named hooks, and returns how many.
	// Errors: ErrFull, ErrUnavailable.
	DiscardEvents(ctx context.Context, hooks []string) (discarded int64, err error)

	// TidyEvents removes events that failed longer ago than age, at most limit of them, and
	// returns how many. Errors: ErrFull, ErrUnavailable.
	TidyEvents(ctx context.Context, age time.Duration, limit int) (removed int, err error)
}

// MailHook is the hook of all mails. No webhook has this name.
const MailHook = "mail"

// Types of events.
const (
	SubmissionCreated = "submission.created"
	SubmissionUpdated = "submission.updated"
	SubmissionDeleted = "submission.deleted"
)

// Queue names the events about one form for one listener.
type Queue struct {
	Hook string // the name of a webhook, or MailHook
	// Recipient is the address of a mail; "" for a webhook. For the submitter of
	// a submission it is "ID FIELD": the id of the submission, and the field whose answer is
	// the address, with its earlier ids on lines of their own. New and Change have " FIELD",
	// and the engine adds the id.
	Recipient string
	PageID    int64
	FormID    string
}

// Event tells one listener of one change of a submission.
type Event struct {
	// Queue: with New, Change and Delete, the engine sets PageID and FormID.
	Queue
	ID         int64     // ascending within a queue; set by the engine
	Submission int64     // the id of the submission; with New, Change and Delete, set by the engine
	Type       string    // such as SubmissionCreated
	Created    time.Time // when the submission was changed, to the millisecond
	Message    string    // a random text by which a receiver recognises a repeated delivery
	Title      string    // of the form, for a mail; "" for a webhook
	Language   string    // of the form's page, for a mail: a BCP 47 tag, or ""
	Anonymous  bool      // the form was anonymous: no answer may be sent
	Failed     time.Time // when delivery was given up, to the millisecond; zero while the event waits
	Error      string    // of the last attempt; "" while the event waits
}

// Lease is a queue that one server delivers.
type Lease struct {
	Queue
	Events   []Event // in the order of their ids
	Attempts int     // failed attempts in a row before
	Token    int64   // for the engine
}

// Settlement is what became of the events of a lease. The zero Settlement leaves all of
// them, and the queue is due at once.
type Settlement struct {
	Delivered []int64 // ids of events to be removed
	Failed    []int64 // ids of events that are kept as failed, with Error

	Delay    time.Duration // until the queue is due again
	Attempts int           // failed attempts in a row
	Error    string        // of the last attempt; "" after one that succeeded
}

// EventCount is how many events a hook has.
type EventCount struct {
	Hook           string
	Queued, Failed int64
	Oldest         time.Time // when the oldest of the waiting events was written; zero without any
	LastError      string    // of the last attempt that failed, of events that are still stored
}
