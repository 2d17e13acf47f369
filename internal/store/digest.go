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

// Add takes in all that is known of a submission. Lengths stand before texts,
// so that nothing can move from one to the next unseen.
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
