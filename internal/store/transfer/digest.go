package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/formulary/formulary/internal/store"
)

// digest is a checksum of submissions in the order of their keys.
type digest struct {
	hash  hash.Hash
	count int64
	buf   []byte
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

// add takes in all that is known of a submission. Lengths stand before texts,
// so that nothing can move from one to the next unseen.
func (d *digest) add(r store.Record) {
	d.count++
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

func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }
