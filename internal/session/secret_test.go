package session

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// TestCopyOfTheDatabase: the contents of the store are not enough to open a
// session, to decrypt a credential or to name the owner of a session.
func TestCopyOfTheDatabase(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	row := f.stored(id)
	secret, _ := parseID(id)
	for _, column := range [][]byte{row.Hash[:], row.Owner[:], row.Sealed} {
		for _, word := range []string{"amy", "secret", id, string(secret[:])} {
			if bytes.Contains(column, []byte(word)) {
				t.Errorf("the store holds %q", word)
			}
		}
	}
	for _, guess := range [][32]byte{row.Hash, row.Owner, [32]byte(row.Sealed)} {
		f.wantNone(secretID(guess).String())
	}
	all := slices.Concat(row.Hash[:], row.Owner[:], binary.BigEndian.AppendUint64(nil, uint64(row.Expires.UnixMilli())), row.Sealed)
	for i := range len(all) - keySize + 1 {
		f.wantUseless(all[i:i+keySize], row)
	}
	other := New(Options{OwnerKey: bytes.Repeat([]byte("x"), keySize)})
	if other.owner("amy") == row.Owner || f.owner("bob") == row.Owner || f.owner("amy") != row.Owner {
		t.Error("the owner does not depend on the key and the name")
	}
}

// wantUseless checks that 32 bytes are neither the id of a session nor the key
// of its credential.
func (f *fixture) wantUseless(guess []byte, row store.Session) {
	f.t.Helper()
	id := secretID(guess)
	if id.hash() == row.Hash {
		f.t.Error("the store has the id")
	}
	if c, err := id.open(row.Sealed); err == nil {
		f.t.Errorf("what is stored decrypts the credential, as an id: %v", c)
	}
	block, err := aes.NewCipher(guess)
	testkit.Must(f.t, err)
	aead, err := cipher.NewGCMWithRandomNonce(block)
	testkit.Must(f.t, err)
	if _, err := aead.Open(nil, nil, row.Sealed, nil); err == nil {
		f.t.Error("what is stored decrypts the credential, as a key")
	}
}

// TestDamaged: a session whose credential can't be read ends, and the log says
// so without saying whose it was.
func TestDamaged(t *testing.T) {
	f := newFixture(t)
	for _, damage := range []func(sealed []byte) []byte{
		func([]byte) []byte { return []byte{} },
		func(sealed []byte) []byte { return sealed[:5] },
		func(sealed []byte) []byte { return sealed[:len(sealed)-1] },
		func(sealed []byte) []byte { return append(sealed, 0) },
		func(sealed []byte) []byte { sealed[0] ^= 1; return sealed },
		func(sealed []byte) []byte { sealed[len(sealed)-1] ^= 1; return sealed },
		func(sealed []byte) []byte { return bytes.Repeat(sealed, 100) },
	} {
		id := f.signIn("amy", "secret")
		row := f.stored(id)
		testkit.Must(t, f.store.DeleteSession(t.Context(), row.Hash))
		row.Sealed = damage(row.Sealed)
		testkit.Must(t, f.store.CreateSession(t.Context(), row))
		f.logs.Reset()
		f.wantNone(id)
		f.wantRemoved(id)
		logs := f.logs.String()
		if strings.Count(logs, "a session is damaged") != 1 {
			t.Errorf("logs: %s", logs)
		}
		for _, secret := range []string{id, "amy", "secret"} {
			if strings.Contains(logs, secret) {
				t.Errorf("the log has %q: %s", secret, logs)
			}
		}
	}
}

// TestSealedLength: the length of a password does not show.
func TestSealedLength(t *testing.T) {
	want := 0
	for _, c := range []credential{{"a", "b"}, {"amy", strings.Repeat("x", 72)}, {strings.Repeat("u", 50), strings.Repeat("x", 72)}} {
		sealed := secretID{1}.seal(c)
		if want == 0 {
			want = len(sealed)
		}
		if len(sealed) != want {
			t.Errorf("%d bytes for a credential of %d and %d, want %d", len(sealed), len(c.user), len(c.password), want)
		}
	}
}

func TestCredential(t *testing.T) {
	id := secretID{1}
	for _, c := range []credential{
		{}, {"a", ""}, {"", "b"}, {"a\x00", "\x00b\x00"}, {"ünï", "pässwörd"}, {strings.Repeat("u", maxUser), strings.Repeat("x", maxPassword)},
	} {
		sealed := id.seal(c)
		if got, err := id.open(sealed); err != nil || got != c {
			t.Errorf("%q became %q, %v", c, got, err)
		}
	}
	for _, text := range []string{"", "\x00", "\x00\x01", "\x00\x01a", "\x00\x01a\x00", "\x00\x01a\x00\x02b"} {
		if c, err := decodeCredential([]byte(text)); err == nil {
			t.Errorf("%q became %q", text, c)
		}
	}
}
