package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
	"time"
)

const (
	verifiedTTL = 5 * time.Minute
	// generationSize is half of what each table of the cache can hold.
	generationSize = 4096
	// maxPooledBuffer keeps one giant password from staying in memory.
	maxPooledBuffer = 4096
)

// mac stands for a user name, a password and the hash it was verified with.
// With the hash in it, an entry stops matching the moment the hash changes.
type mac [sha256.Size]byte

// verifiedCache remembers credentials that bcrypt has accepted, without
// keeping them: there are only MACs under a random key that is never stored. It
// also remembers the hosts that each credential was used from. The two tables
// are bounded separately: a user who logs in from very many hosts evicts hosts,
// not the credentials of others.
type verifiedCache struct {
	states sync.Pool // of *macState

	mu          sync.RWMutex // hits hold it for reading
	credentials generations[mac]
	uses        generations[use]
}

// use is a credential that was right, and the host that sent it.
type use struct {
	credential mac
	from       host
}

// generations is a table of bounded size. Two maps, the older one dropped when
// the younger is full, need no bookkeeping on a hit. Only good credentials
// come in, so that guessing does not flush it.
type generations[K comparable] struct {
	young, old map[K]time.Time // when the entry expires
}

func (g *generations[K]) has(key K, now time.Time) bool {
	expires, ok := g.young[key]
	if !ok {
		expires, ok = g.old[key]
	}
	return ok && now.Before(expires)
}

func (g *generations[K]) add(key K, expires time.Time) {
	if g.young == nil || len(g.young) >= generationSize {
		g.old, g.young = g.young, make(map[K]time.Time)
	}
	g.young[key] = expires
}

type macState struct {
	hmac hash.Hash
	buf  []byte
	sum  mac
}

func newVerifiedCache() *verifiedCache {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails: crypto/rand aborts the program instead
	c := &verifiedCache{}
	c.states.New = func() any {
		return &macState{hmac: hmac.New(sha256.New, key)}
	}
	return c
}

// mac puts the length before each part, so that "ab"+"c" and "a"+"bc" differ.
// State and buffers are pooled since this runs on every request.
func (c *verifiedCache) mac(user, password, hash string) mac {
	s := c.states.Get().(*macState)
	s.buf = s.buf[:0]
	for _, part := range [...]string{user, password, hash} {
		s.buf = binary.BigEndian.AppendUint64(s.buf, uint64(len(part)))
		s.buf = append(s.buf, part...)
	}
	s.hmac.Reset()
	s.hmac.Write(s.buf)
	s.hmac.Sum(s.sum[:0])
	sum := s.sum
	clear(s.buf) // no passwords in the pool
	if cap(s.buf) <= maxPooledBuffer {
		c.states.Put(s)
	}
	return sum
}

// has reports whether bcrypt has accepted the credential lately.
func (c *verifiedCache) has(m mac, now time.Time) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.credentials.has(m, now)
}

// hasFrom reports whether, in addition, this host has sent the credential before.
func (c *verifiedCache) hasFrom(m mac, from host, now time.Time) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.credentials.has(m, now) && c.uses.has(use{m, from}, now)
}

// usedFrom reports whether this host has sent the credential before. It may have
// expired since, so that bcrypt has to accept it again.
func (c *verifiedCache) usedFrom(m mac, from host, now time.Time) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.uses.has(use{m, from}, now)
}

// add records that bcrypt has accepted the credential.
func (c *verifiedCache) add(m mac, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credentials.add(m, now.Add(verifiedTTL))
}

// addUse records that the host has sent the credential. That does not keep the
// credential any longer: bcrypt has to accept it again as before.
func (c *verifiedCache) addUse(m mac, from host, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses.add(use{m, from}, now.Add(trustFor))
}
