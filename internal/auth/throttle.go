package auth

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

const (
	trustFor = 24 * time.Hour
	// maxTimers bounds each table of the throttle to a few megabytes.
	maxTimers     = 65536
	sweepInterval = time.Minute
)

// throttle slows the guessing of passwords. Failures are metered per pair of
// address and user, per address, and per user. The last two also hit users who
// only share an address with a guesser or whose name is guessed at; so a pair
// that has succeeded before is limited by its own meter only.
type throttle struct {
	now  func() time.Time
	seed maphash.Seed

	mu                     sync.Mutex
	byPair, byAddr, byUser meter
	trusted                timers // until when a pair is trusted
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{
		now:     now,
		seed:    maphash.MakeSeed(),
		byPair:  newMeter(10, 5*time.Second),
		byAddr:  newMeter(100, time.Second),
		byUser:  newMeter(100, 2*time.Second),
		trusted: newTimers(maxTimers),
	}
}

// keys are hashes, under a secret random seed, because names and addresses
// come from the attacker and can be long, and the tables must stay small.
type keys struct{ pair, addr, user uint64 }

func (t *throttle) keys(from host, user string) keys {
	type pair struct {
		from host
		user string
	}
	return keys{
		pair: maphash.Comparable(t.seed, pair{from, user}),
		addr: maphash.Comparable(t.seed, from),
		user: maphash.String(t.seed, user),
	}
}

// allow returns an error if an attempt may not be made now, without counting it.
// trusted is whether the pair has succeeded before.
func (t *throttle) allow(from host, user string) (trusted bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, now := t.keys(from, user), t.now()
	trusted = t.isTrusted(k, now)
	return trusted, t.check(k, now, trusted)
}

// reserve counts an attempt as failed before it is made, so that attempts made
// at the same time cannot all see the same last token.
func (t *throttle) reserve(from host, user string) (reservation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, now := t.keys(from, user), t.now()
	r := reservation{throttle: t, keys: k, exempt: t.isTrusted(k, now)}
	if err := t.check(k, now, r.exempt); err != nil {
		return reservation{}, err
	}
	t.byPair.take(k.pair, now)
	if !r.exempt {
		t.byAddr.take(k.addr, now)
		t.byUser.take(k.user, now)
	}
	return r, nil
}

// succeeded resets the failures of the pair, and trusts it from now on.
func (t *throttle) succeeded(from host, user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, now := t.keys(from, user), t.now()
	delete(t.byPair.fullAt.at, k.pair)
	t.trusted.set(k.pair, now.Add(trustFor), now)
}

func (t *throttle) isTrusted(k keys, now time.Time) bool {
	return now.Before(t.trusted.at[k.pair])
}

func (t *throttle) check(k keys, now time.Time, exempt bool) error {
	wait := t.byPair.wait(k.pair, now)
	if !exempt {
		wait = max(wait, t.byAddr.wait(k.addr, now), t.byUser.wait(k.user, now))
	}
	if wait <= 0 {
		return nil
	}
	seconds := (wait + time.Second - 1) / time.Second
	return &ThrottledError{RetryAfter: seconds * time.Second}
}

// reservation is a token taken from each meter that applied.
type reservation struct {
	throttle *throttle
	keys     keys
	exempt   bool
}

// refund gives the tokens back: the attempt did not fail.
func (r reservation) refund() {
	t := r.throttle
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byPair.putBack(r.keys.pair)
	if !r.exempt {
		t.byAddr.putBack(r.keys.addr)
		t.byUser.putBack(r.keys.user)
	}
}

// meter is a token bucket for each key. A bucket is stored as the time at which it
// will be full again: every token taken moves that time by `every`. When the time
// has passed, the bucket is full and needs no entry.
type meter struct {
	every  time.Duration
	slack  time.Duration // how far in the future fullAt may be with one token left
	fullAt timers
}

func newMeter(burst int, every time.Duration) meter {
	return meter{every: every, slack: time.Duration(burst-1) * every, fullAt: newTimers(maxTimers)}
}

// wait returns how long it takes until there is a token; 0 if there is one.
func (m *meter) wait(key uint64, now time.Time) time.Duration {
	at, ok := m.fullAt.at[key]
	if !ok {
		return 0
	}
	return max(0, at.Sub(now)-m.slack)
}

func (m *meter) take(key uint64, now time.Time) {
	at := m.fullAt.at[key]
	if at.Before(now) {
		at = now
	}
	m.fullAt.set(key, at.Add(m.every), now)
}

func (m *meter) putBack(key uint64) {
	if at, ok := m.fullAt.at[key]; ok { // swept or evicted otherwise
		m.fullAt.at[key] = at.Add(-m.every)
	}
}

// timers holds a time for each key. An entry has no meaning once its time has
// passed.
type timers struct {
	at        map[uint64]time.Time
	limit     int
	nextSweep time.Time
}

func newTimers(limit int) timers {
	return timers{at: make(map[uint64]time.Time), limit: limit}
}

func (t *timers) set(key uint64, at, now time.Time) {
	if _, ok := t.at[key]; !ok && (len(t.at) >= t.limit || now.After(t.nextSweep)) {
		t.makeRoom(now)
	}
	t.at[key] = at
}

// makeRoom evicts the entries whose time has passed and, if the table is still
// full, the eighth with the earliest times. In a meter those are the fullest buckets: a flood of
// new keys with one failure each evicts itself, and the empty buckets of
// persistent guessers are evicted last. Sorting is slow, but happens once per
// limit/8 new keys, each of which cost a bcrypt.
func (t *timers) makeRoom(now time.Time) {
	t.nextSweep = now.Add(sweepInterval)
	for key, at := range t.at {
		if !at.After(now) {
			delete(t.at, key)
		}
	}
	if len(t.at) < t.limit {
		return
	}
	type timer struct {
		key uint64
		at  time.Time
	}
	all := make([]timer, 0, len(t.at))
	for key, at := range t.at {
		all = append(all, timer{key, at})
	}
	slices.SortFunc(all, func(a, b timer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key)) })
	for _, oldest := range all[:max(1, t.limit/8)] {
		delete(t.at, oldest.key)
	}
}
