package auth

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMacDiffersBetweenCredentials(t *testing.T) {
	c := newVerifiedCache()
	seen := make(map[mac][3]string)
	for _, parts := range [][3]string{
		{"ab", "c", "h"},
		{"a", "bc", "h"},
		{"ab", "ch", ""},
		{"", "abc", "h"},
		{"ab", "c", "i"},
		{"ab", strings.Repeat("c", 2*maxPooledBuffer), "h"},
	} {
		m := c.mac(parts[0], parts[1], parts[2])
		if m != c.mac(parts[0], parts[1], parts[2]) {
			t.Errorf("%q has two MACs", parts)
		}
		if other, ok := seen[m]; ok {
			t.Errorf("%q and %q have the same MAC", parts, other)
		}
		seen[m] = parts
	}
	if newVerifiedCache().mac("ab", "c", "h") == c.mac("ab", "c", "h") {
		t.Error("two caches have the same key")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newVerifiedCache()
	now := time.Now()
	numbered := func(i int) (m mac) {
		binary.BigEndian.PutUint64(m[:], uint64(i))
		return m
	}
	from := clientHost(home)
	const n = 5 * generationSize
	for i := range n {
		c.add(numbered(i), now)
		c.addUse(numbered(i), from, now)
		if held := len(c.credentials.young) + len(c.credentials.old); held > 2*generationSize {
			t.Fatalf("%d credentials", held)
		}
		if held := len(c.uses.young) + len(c.uses.old); held > 2*generationSize {
			t.Fatalf("%d uses", held)
		}
	}
	for i := n - generationSize; i < n; i++ {
		if !c.has(numbered(i), now) || !c.hasFrom(numbered(i), from, now) {
			t.Fatalf("entry %d of %d is gone", i, n)
		}
	}
}

func TestManyHostsEvictNoCredential(t *testing.T) {
	c := newVerifiedCache()
	now := time.Now()
	c.add(mac{1}, now)
	c.add(mac{2}, now)
	for i := range 5 * generationSize {
		c.addUse(mac{2}, host{text: strconv.Itoa(i)}, now)
	}
	if !c.has(mac{1}, now) {
		t.Error("the credential is gone")
	}
}

// A hit must not wait for other hits.
func TestHitSharesTheLock(t *testing.T) {
	c := newVerifiedCache()
	c.add(mac{1}, time.Now())
	c.addUse(mac{1}, clientHost(home), time.Now())
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.hasFrom(mac{1}, clientHost(home), time.Now()) { // would deadlock with an exclusive lock
		t.Error("the entry is gone")
	}
}

// This runs on every request.
func TestHitAllocatesNothing(t *testing.T) {
	c, now := newVerifiedCache(), time.Now()
	c.add(mac{1}, now)
	for _, addr := range []string{home, "[2001:db8:1:2:3:4:5:6]:80"} {
		c.addUse(mac{1}, clientHost(addr), now)
		if got := testing.AllocsPerRun(100, func() { c.hasFrom(mac{1}, clientHost(addr), now) }); got != 0 {
			t.Errorf("from %s: %v allocations", addr, got)
		}
	}
}

func BenchmarkAuthenticateCached(b *testing.B) {
	file := filepath.Join(b.TempDir(), "users")
	if err := SetPassword(file, "alice", "open sesame"); err != nil {
		b.Fatal(err)
	}
	d, err := Open(Options{UsersFile: file})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	login := func() {
		if _, err := d.Authenticate(ctx, "alice", "open sesame", home); err != nil {
			b.Error(err)
		}
	}
	login()
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			login()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				login()
			}
		})
	})
}
