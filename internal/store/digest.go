package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Digest is a checksum of submissions in the order of their keys. It is the
// same for every engine that holds them.
type Digest struct {
	Count int64

	hash hash.Hash
	buf  []byte
}

// NewDigest returns the digest of no submissions.
func NewDigest() *Digest { return &Digest{hash: sha256.New()} }

// Add hashes a submission. The length is written before each text, so that
// "ab"+"c" and "a"+"bc" differ.
func (d *Digest) Add(r Record) {
	d.Count++
	b := d.buf[:0]
	for _, n := range []int64{r.PageID, r.ID, r.Created.UnixMilli()} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range []string{r.FormID, r.Username, r.Once} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Entries)))
	b = append(b, r.Entries...)
	d.buf = b
	d.hash.Write(d.buf) // never fails
}

// Sum returns the checksum as text.
func (d *Digest) Sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }
