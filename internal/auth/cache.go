package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	verifiedTTL = 5 * time.Minute
	// maxEntries bounds each table to some megabytes.
	maxEntries = 65536
)

// Clock is an otter.Clock. It has no ticks: entries that have expired are removed
// when others are added.
type Clock func() time.Time

// NowNano implements otter.Clock.
func (c Clock) NowNano() int64 { return c().UnixNano() }

// Tick implements otter.Clock.
func (c Clock) Tick(time.Duration) <-chan time.Time { return nil }

func newTable[K comparable, V any](now Clock, expiry otter.ExpiryCalculator[K, V]) *otter.Cache[K, V] {
	return otter.Must(&otter.Options[K, V]{MaximumSize: maxEntries, ExpiryCalculator: expiry, Clock: now})
}

// newSet returns a table of keys that expire some time after they were added.
func newSet[K comparable](now Clock, ttl time.Duration) *otter.Cache[K, struct{}] {
	return newTable(now, otter.ExpiryWriting[K, struct{}](ttl))
}

// mac is the hash of a user name, a password and the hash it was verified with.
// With the hash in it, an entry stops matching the moment the hash changes.
type mac [sha256.Size]byte

// verifiedCache remembers credentials that bcrypt has accepted, without
// keeping them: there are only MACs under a random key that is never stored. It
// also remembers the hosts that each credential was used from. The two tables
// are bounded separately: a user who logs in from very many hosts evicts hosts,
// not the credentials of others. Only good credentials come in, so that guessing
// does not evict any.
type verifiedCache struct {
	key         []byte
	credentials *otter.Cache[mac, struct{}]
	uses        *otter.Cache[use, struct{}]
}

// use is a credential that was right, and the host that sent it.
type use struct {
	credential mac
	from       netip.Addr
}

func newVerifiedCache(now Clock) *verifiedCache {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails: crypto/rand aborts the program instead
	return &verifiedCache{key: key, credentials: newSet[mac](now, verifiedTTL), uses: newSet[use](now, trustFor)}
}

// mac puts the length before each part, so that "ab"+"c" and "a"+"bc" differ. No MAC
// leaves the process, so that the key before the text is enough, which takes half the
// time of HMAC. This runs on every request.
func (c *verifiedCache) mac(user, password, hash string) mac {
	text := append(make([]byte, 0, 512), c.key...)
	for _, part := range [...]string{user, password, hash} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	return sha256.Sum256(text)
}

// has reports whether bcrypt has accepted the credential lately.
func (c *verifiedCache) has(m mac) bool {
	_, ok := c.credentials.GetIfPresent(m)
	return ok
}

// usedFrom reports whether this host has sent the credential before. It may have
// expired since, so that bcrypt has to accept it again.
func (c *verifiedCache) usedFrom(m mac, from netip.Addr) bool {
	_, ok := c.uses.GetIfPresent(use{m, from})
	return ok
}

// hasFrom reports whether bcrypt has accepted the credential lately, and this host
// has sent it before.
func (c *verifiedCache) hasFrom(m mac, from netip.Addr) bool { return c.has(m) && c.usedFrom(m, from) }

// add records that bcrypt has accepted the credential.
func (c *verifiedCache) add(m mac) { c.credentials.Set(m, struct{}{}) }

// addUse records that the host has sent the credential. That does not keep the
// credential any longer: bcrypt has to accept it again as before.
func (c *verifiedCache) addUse(m mac, from netip.Addr) { c.uses.Set(use{m, from}, struct{}{}) }
