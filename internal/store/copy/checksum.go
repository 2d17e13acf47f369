package copystore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/formulary/formulary/internal/store"
)

// checksum is a running hash of submissions in the order of a dump. It is the
// same for every engine that holds them.
type checksum struct {
	count int64
	hash  hash.Hash
	buf   []byte
}

func newChecksum() *checksum { return &checksum{hash: sha256.New()} }

// add hashes a submission. The length is written before each text, so that
// "ab"+"c" and "a"+"bc" differ. The ids of files are left out: a copy has
// other ones.
func (c *checksum) add(r store.Record) {
	c.count++
	b := c.buf[:0]
	for _, n := range []int64{r.PageID, r.ID, r.Created.UnixMilli()} {
		b = binary.AppendVarint(b, n)
	}
	b = appendTexts(b, r.FormID, r.Username, r.SubmitterKey, r.Key, r.Body)
	b = binary.AppendUvarint(b, uint64(len(r.Entries)))
	b = append(b, r.Entries...)
	b = binary.AppendUvarint(b, uint64(len(r.Files)))
	for _, f := range r.Files {
		b = appendTexts(b, f.FieldID, f.Name, f.SHA256, f.Type)
		b = binary.AppendVarint(b, f.Size)
	}
	c.buf = b
	c.hash.Write(b) // never fails
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func (c *checksum) equal(other *checksum) bool {
	return c.count == other.count && bytes.Equal(c.hash.Sum(nil), other.hash.Sum(nil))
}
