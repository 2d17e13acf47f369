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
// "ab"+"c" and "a"+"bc" differ. The ids of files are left out: a copy has
// other ones.
func (d *Digest) Add(r Record) {
	d.Count++
	b := d.buf[:0]
	for _, n := range []int64{r.PageID, r.ID, r.Created.UnixMilli()} {
		b = binary.AppendVarint(b, n)
	}
	b = appendTexts(b, r.FormID, r.Username, r.SubmitterKey)
	b = binary.AppendUvarint(b, uint64(len(r.Entries)))
	b = append(b, r.Entries...)
	b = appendTexts(b, r.Key, r.Body)
	b = binary.AppendUvarint(b, uint64(len(r.Files)))
	for _, f := range r.Files {
		b = appendTexts(b, f.FieldID, f.Name, f.SHA256, f.Type)
		b = binary.AppendVarint(b, f.Size)
	}
	d.buf = b
	d.hash.Write(d.buf) // never fails
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// Sum returns the checksum as text.
func (d *Digest) Sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }
