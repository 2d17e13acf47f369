package auth

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

const trustFor = 24 * time.Hour

// throttle slows the guessing of passwords. Failures are counted per pair of
// address and user, per address, and per user. The last two also hit users who
// only share an address with a guesser or whose name is guessed at; so a pair
// that has succeeded before is limited by its own bucket only.
type throttle struct {
	now      Clock
	seed     maphash.Seed
	mu       sync.Mutex // held while tokens are counted and taken
	limiters *otter.Cache[uint64, *rate.Limiter]
	trusted  *otter.Cache[uint64, struct{}] // pairs
}

func newThrottle(now Clock) *throttle {
	return &throttle{
		now:  now,
		seed: maphash.MakeSeed(),
		// An entry expires when its bucket must be full again.
		limiters: newTable(now, otter.ExpiryAccessing[uint64, *rate.Limiter](perUserBurst*perUserInterval)),
		trusted:  newSet[uint64](now, trustFor),
	}
}

// bucket holds tokens for failures: up to burst, and a new one in each interval.
type bucket struct {
	key      uint64
	burst    int
	interval time.Duration
}

const (
	perUserBurst    = 100
	perUserInterval = 2 * time.Second
)

// key is a hash, under a secret random seed, because names and addresses come from
// the attacker and can be long, and the tables must stay small.
func (t *throttle) key(kind string, from netip.Addr, user string) uint64 {
	return maphash.Comparable(t.seed, [...]any{kind, from, user})
}

func (t *throttle) pair(from netip.Addr, user string) bucket {
	return bucket{t.key("pair", from, user), 10, 5 * time.Second}
}

// buckets returns those that limit an attempt. trusted is whether the pair has
// succeeded before.
func (t *throttle) buckets(from netip.Addr, user string) (list []bucket, trusted bool) {
	pair := t.pair(from, user)
	if _, trusted := t.trusted.GetIfPresent(pair.key); trusted {
		return []bucket{pair}, true
	}
	return []bucket{
		pair,
		{t.key("address", from, ""), 100, time.Second},
		{t.key("user", netip.Addr{}, user), perUserBurst, perUserInterval},
	}, false
}

// check returns an error if a bucket is empty: an attempt may not be made now. It makes no
// entries, because an attempt that is refused costs the attacker nothing.
func (t *throttle) check(list []bucket) error {
	var wait time.Duration
	for _, b := range list {
		if limiter, ok := t.limiters.GetIfPresent(b.key); ok {
			missing := 1 - limiter.TokensAt(t.now())
			wait = max(wait, time.Duration(missing*float64(b.interval)))
		}
	}
	wait = wait.Round(time.Millisecond) // tokens are inexact
	if wait <= 0 {
		return nil
	}
	seconds := (wait + time.Second - 1) / time.Second
	return &ThrottledError{RetryAfter: seconds * time.Second}
}

// reserve counts an attempt as failed before it is made, so that attempts made
// at the same time cannot all see the same last token. If the attempt succeeds,
// refund gives the tokens back.
func (t *throttle) reserve(from netip.Addr, user string) (refund func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, _ := t.buckets(from, user)
	if err := t.check(list); err != nil {
		return nil, err
	}
	limiters := make([]*rate.Limiter, len(list))
	for i, b := range list {
		limiters[i], _ = t.limiters.ComputeIfAbsent(b.key, func() (*rate.Limiter, bool) {
			return rate.NewLimiter(rate.Every(b.interval), b.burst), false
		})
		limiters[i].AllowN(t.now(), 1)
	}
	return func() {
		for _, limiter := range limiters {
			limiter.AllowN(t.now(), -1)
		}
	}, nil
}

// succeeded resets the failures of the pair, and trusts it from now on.
func (t *throttle) succeeded(from netip.Addr, user string) {
	key := t.pair(from, user).key
	t.limiters.Invalidate(key)
	t.trusted.Set(key, struct{}{})
}
