package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"golang.org/x/crypto/cryptobyte"
)

const (
	keySize = 32
	// maxUser and maxPassword bound what is stored for a session.
	maxUser     = 1 << 10
	maxPassword = 4 << 10
	// padding is what the length of a credential is rounded up to: the length
	// of the encrypted text must not reveal that of the password. Passwords in
	// an htpasswd file have at most 72 bytes. More padding would cost memory:
	// readers of SQLite keep the table in their caches.
	padding = 128
)

// Derive returns a key that reveals nothing about the secret, or about keys for
// other purposes.
func Derive(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, keySize)
	if err != nil {
		panic(err) // only much longer keys can't be derived
	}
	return key
}

// owner names a user in the store. It differs from user to user, and only
// a server with the key can compute it.
func (s *Sessions) owner(user string) (owner [sha256.Size]byte) {
	mac := hmac.New(sha256.New, s.opts.OwnerKey)
	mac.Write([]byte(user))
	mac.Sum(owner[:0])
	return owner
}

// secretID is the id of a session. Only the browser keeps it.
type secretID [32]byte

// idEncoding is strict, so that an id has one text only.
var idEncoding = base64.RawURLEncoding.Strict()

func (id secretID) String() string { return idEncoding.EncodeToString(id[:]) }

func parseID(text string) (id secretID, ok bool) {
	if len(text) != idEncoding.EncodedLen(len(id)) {
		return secretID{}, false
	}
	n, err := idEncoding.Decode(id[:], []byte(text))
	return id, err == nil && n == len(id)
}

// hash is what the store finds the session by. An id has 256 random bits, so
// it can't be guessed from its hash.
func (id secretID) hash() [sha256.Size]byte { return sha256.Sum256(id[:]) }

// AEAD encrypts under the key that Derive returns, with random nonces of its own.
func AEAD(secret []byte, purpose string) cipher.AEAD {
	block, _ := aes.NewCipher(Derive(secret, purpose)) // the key has the right size
	aead, _ := cipher.NewGCMWithRandomNonce(block)     // and so has the block
	return aead
}

// aead encrypts under a key that only the holder of the id can derive.
func (id secretID) aead() cipher.AEAD { return AEAD(id[:], "formulary session credential") }

func (id secretID) seal(c credential) []byte {
	return id.aead().Seal(nil, nil, c.encode(), nil) //nolint:gosec // this AEAD makes a random nonce by itself
}

func (id secretID) open(sealed []byte) (credential, error) {
	text, err := id.aead().Open(nil, nil, sealed, nil)
	if err != nil {
		return credential{}, err
	}
	return decodeCredential(text)
}

// credential is what a user signed in with.
type credential struct{ user, password string }

// encode writes each part after its length, and pads the whole with zeros.
func (c credential) encode() []byte {
	size := 2 + len(c.user) + 2 + len(c.password)
	text := make([]byte, 0, (size+padding-1)/padding*padding)
	for _, part := range [...]string{c.user, c.password} {
		text = binary.BigEndian.AppendUint16(text, uint16(len(part))) //nolint:gosec // SignIn bounds it
		text = append(text, part...)
	}
	return text[:cap(text)]
}

func decodeCredential(text []byte) (credential, error) {
	var user, password cryptobyte.String
	if in := cryptobyte.String(text); !in.ReadUint16LengthPrefixed(&user) || !in.ReadUint16LengthPrefixed(&password) {
		return credential{}, errors.New("the credential is cut short")
	}
	return credential{string(user), string(password)}, nil
}
