package copystore

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// checksum is a running hash of submissions in the order of a dump. It is the
// same for every engine that holds them.
type checksum struct {
	count int64
	hash  hash.Hash
}

func newChecksum() *checksum { return &checksum{hash: sha256.New()} }

// add hashes a submission. Texts are quoted, so that "ab"+"c" and "a"+"bc" differ.
// The ids of files are left out: a copy has other ones.
func (c *checksum) add(r store.Record) error {
	c.count++
	files := slices.Clone(r.Files)
	for i := range files {
		files[i].ID = 0
	}
	text, err := forms.EncodeFiles(files)
	if err != nil {
		return fmt.Errorf("submission %d: %w", r.ID, err)
	}
	_, err = fmt.Fprintf(c.hash, "%d %q %d %d %q %q %q %q %q %q %d %q\n",
		r.PageID, r.FormID, r.ID, r.Created.UnixMilli(), r.Username, r.SubmitterKey, r.Key, r.Body, r.Entries, text, r.Changed.UnixMilli(), r.Changer)
	return err
}

func (c *checksum) equal(other *checksum) bool {
	return c.count == other.count && bytes.Equal(c.hash.Sum(nil), other.hash.Sum(nil))
}
