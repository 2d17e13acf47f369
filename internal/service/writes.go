package service

import (
	"hash/maphash"
	"sync/atomic"
)

// writeCounts counts the writes of this process by form. Forms may share a counter:
// then one of them seems to have been written to more often.
type writeCounts [256]atomic.Uint64

var writeSeed = maphash.MakeSeed()

func (a *Access) writeCount() *atomic.Uint64 {
	counts := &a.service.writes
	return &counts[maphash.Comparable(writeSeed, a.key(0))%uint64(len(counts))]
}

// countWrite is called after each write, also if it is not known whether it was done.
func (a *Access) countWrite() { a.writeCount().Add(1) }

// Writes is another number after a write of this process to the form.
func (a *Access) Writes() uint64 { return a.writeCount().Load() }
