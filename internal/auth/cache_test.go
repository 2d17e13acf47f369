package auth

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func TestMacDiffersBetweenCredentials(t *testing.T) {
	c := newVerifiedCache(time.Now)
	seen := make(map[mac][3]string)
	for _, parts := range [][3]string{
		{"ab", "c", "h"},
		{"a", "bc", "h"},
		{"ab", "ch", ""},
		{"", "abc", "h"},
		{"ab", "c", "i"},
		{"ab", strings.Repeat("c", 10_000), "h"},
	} {
		m := c.mac(parts[0], parts[1], parts[2])
		testkit.Same(t, parts, m, c.mac(parts[0], parts[1], parts[2]))
		if other, ok := seen[m]; ok {
			t.Errorf("%q and %q have the same MAC", parts, other)
		}
		seen[m] = parts
	}
	if newVerifiedCache(time.Now).mac("ab", "c", "h") == c.mac("ab", "c", "h") {
		t.Error("two caches have the same key")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newVerifiedCache(time.Now)
	if c.credentials.GetMaximum() != maxEntries || c.uses.GetMaximum() != maxEntries {
		t.Error("a table of the cache has no limit")
	}
	c.credentials.SetMaximum(100)
	c.uses.SetMaximum(100)
	for i := range 1000 {
		var m mac
		binary.BigEndian.PutUint64(m[:], uint64(i))
		c.add(m)
		c.addUse(m, ClientHost(home))
	}
	c.credentials.CleanUp()
	c.uses.CleanUp()
	if credentials, uses := c.credentials.EstimatedSize(), c.uses.EstimatedSize(); credentials > 100 || uses > 100 {
		t.Errorf("%d credentials and %d uses, want 100 at most", credentials, uses)
	}
}

func TestManyHostsEvictNoCredential(t *testing.T) {
	c := newVerifiedCache(time.Now)
	c.uses.SetMaximum(100)
	c.add(mac{1})
	c.add(mac{2})
	for i := range 1000 {
		c.addUse(mac{2}, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
	}
	if !c.has(mac{1}) {
		t.Error("the credential is gone")
	}
}

// This runs on every request.
func TestHitAllocatesNothing(t *testing.T) {
	c := newVerifiedCache(time.Now)
	c.add(mac{1})
	for _, addr := range []string{home, "[2001:db8:1:2:3:4:5:6]:80"} {
		c.addUse(mac{1}, ClientHost(addr))
		testkit.Same(t, addr, testing.AllocsPerRun(100, func() { c.hasFrom(mac{1}, ClientHost(addr)) }), 0)
	}
}
