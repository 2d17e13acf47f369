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
	// generationSize is half of what the cache can hold.
	generationSize = 4096
	// maxPooledBuffer keeps one giant password from staying in memory.
	maxPooledBuffer = 4096
)

// mac stands for a user name, a password and the hash it was verified with.
// With the hash in it, an entry stops matching the moment the hash changes.
type mac [sha256.Size]byte

// verifiedCache remembers credentials that bcrypt has accepted, without
// keeping them: there are only MACs under a key that dies with the process.
type verifiedCache struct {
	states sync.Pool // of *macState

	// Two generations, the older one dropped when the younger is full, bound
	// the cache without any bookkeeping on a hit, which therefore shares the
	// lock. Only good credentials come in, so that no attack can flush it.
	mu         sync.RWMutex
	young, old map[mac]time.Time // when the entry expires
}

type macState struct {
	hmac hash.Hash
	buf  []byte
	sum  mac
}

func newVerifiedCache() *verifiedCache {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails: crypto/rand aborts the program instead
	c := &verifiedCache{young: make(map[mac]time.Time)}
	c.states.New = func() any {
		return &macState{hmac: hmac.New(sha256.New, key)}
	}
	return c
}

// mac puts the length before each part, lest "ab"+"c" and "a"+"bc" be the same.
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

func (c *verifiedCache) has(m mac, now time.Time) bool {
	c.mu.RLock()
	expires, ok := c.young[m]
	if !ok {
		expires, ok = c.old[m]
	}
	c.mu.RUnlock()
	return ok && now.Before(expires)
}

func (c *verifiedCache) add(m mac, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= generationSize {
		c.old, c.young = c.young, make(map[mac]time.Time)
	}
	c.young[m] = now.Add(verifiedTTL)
}
