package service

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/formulary/formulary/internal/store"
)

// writeCounts counts the writes of this process by form. Forms may share a counter:
// then one of them seems to have been written to more often.
type writeCounts [256]atomic.Uint64

var writeSeed = maphash.MakeSeed()

func (s *Service) writeCount(key store.Key) *atomic.Uint64 {
	key.ID = 0
	return &s.writes[maphash.Comparable(writeSeed, key)%uint64(len(s.writes))]
}

// countWrite is called after each write, also if it is not known whether it was done.
func (a *Access) countWrite() { a.service.writeCount(a.key(0)).Add(1) }

// Writes is another number after a write of this process to the form.
func (a *Access) Writes() uint64 { return a.service.writeCount(a.key(0)).Load() }
