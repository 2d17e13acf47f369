package storetest

import (
	"fmt"
	"slices"
	"testing"
)

var settingTests = []test{
	{"the first claim wins", testClaim},
	{"released is free", testRelease},
	{"names are told apart, and values kept, by their bytes", testSettingBytes},
	{"settings survive a restart", testSettingsKept},
	{"of concurrent claims one wins", testConcurrentClaims},
}

func (b *bench) checkSetting(t *testing.T, name, want string) {
	t.Helper()
	value, err := b.Setting(ctx, name)
	if err != nil {
		t.Fatalf("setting %q: %v", name, err)
	}
	Same(t, fmt.Sprintf("setting %q", name), value, want)
}

func (b *bench) claim(t *testing.T, name, value, want string) {
	t.Helper()
	held, err := b.Claim(ctx, name, value)
	if err != nil {
		t.Fatalf("claim %q: %v", name, err)
	}
	Same(t, fmt.Sprintf("claim of %q for %q", name, value), held, want)
}

func (b *bench) release(t *testing.T, name string) {
	t.Helper()
	if err := b.Release(ctx, name); err != nil {
		t.Fatalf("release %q: %v", name, err)
	}
}

func testClaim(t *testing.T, b *bench) {
	b.checkSetting(t, "name", "")
	b.claim(t, "name", "first", "first")
	b.claim(t, "name", "second", "first")
	b.claim(t, "name", "first", "first")
	b.checkSetting(t, "name", "first")
	b.claim(t, "another", "second", "second")
	b.checkSetting(t, "name", "first")
}

func testRelease(t *testing.T, b *bench) {
	b.release(t, "name")
	b.claim(t, "name", "first", "first")
	b.claim(t, "another", "stays", "stays")
	for range 2 {
		b.release(t, "name")
		b.checkSetting(t, "name", "")
	}
	b.claim(t, "name", "second", "second")
	b.checkSetting(t, "another", "stays")
}

func testSettingBytes(t *testing.T, b *bench) {
	for _, text := range texts {
		b.claim(t, text, "value "+text, "value "+text)
	}
	for _, text := range texts {
		b.checkSetting(t, text, "value "+text)
	}
}

func testSettingsKept(t *testing.T, b *bench) {
	b.claim(t, "kept", "value", "value")
	b.claim(t, "released", "value", "value")
	b.release(t, "released")
	for range 2 {
		b.reopen(t)
		b.checkSetting(t, "kept", "value")
		b.checkSetting(t, "released", "")
	}
}

func testConcurrentClaims(t *testing.T, b *bench) {
	const clients = 50
	held := make([]string, clients)
	for round := range 5 {
		name := fmt.Sprint("name", round)
		NoErrors(t, "claim", Parallel(clients, func(i int) (err error) {
			held[i], err = b.Claim(ctx, name, fmt.Sprint("client ", i))
			return err
		}))
		Same(t, "different answers", len(slices.Compact(slices.Sorted(slices.Values(held)))), 1)
		b.checkSetting(t, name, held[0])
		if held[0] == "" {
			t.Error("no claim won")
		}
	}
}
