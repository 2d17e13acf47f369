package watch

import (
	"io/fs"
	"os"
)

// Version tells versions of a file apart without reading it. The zero value is
// that of a file that can't be looked at, such as one that is missing.
type Version struct {
	info fs.FileInfo
}

// VersionOf returns the version that info describes.
func VersionOf(info fs.FileInfo) Version { return Version{info} }

// Stat returns the version of what path leads to.
func Stat(path string) Version {
	info, err := os.Stat(path)
	if err != nil {
		return Version{}
	}
	return Version{info}
}

// Same reports whether both are the same version of the same file, told by the
// file's identity, size and time stamp, or both the zero value.
func (v Version) Same(w Version) bool {
	if v.info == nil || w.info == nil {
		return v.info == nil && w.info == nil
	}
	return os.SameFile(v.info, w.info) && v.info.Size() == w.info.Size() && v.info.ModTime().Equal(w.info.ModTime())
}

// maxUnsettled is how many looks in a row may see a changed file before it is
// read although it keeps changing.
const maxUnsettled = 4

// Changes follows the versions of one file over the looks at it. It tells when
// a change is to be read: as soon as two looks in a row saw the same version,
// because the first look may have met a file that was half-written. A file that
// keeps changing is read at the fourth look. The zero value has read nothing.
type Changes struct {
	read Version // as of the last read
	seen Version // as of the last look, if it was not read
	n    int     // looks in a row that saw another version than read
}

// Due reports whether the file, which a look saw as now, is to be read for its
// change. It is called once for each look.
func (c *Changes) Due(now Version) bool {
	if c.read.Same(now) {
		c.seen, c.n = Version{}, 0
		return false
	}
	c.n++
	due := c.seen.Same(now) || c.n >= maxUnsettled
	c.seen = now
	return due
}

// Read records that the version was read and is in force.
func (c *Changes) Read(v Version) { *c = Changes{read: v} }

// Forget forgets the looks since the last read: the file could not be looked at.
func (c *Changes) Forget() { c.seen, c.n = Version{}, 0 }

// Current reports whether v is the version that was read last.
func (c *Changes) Current(v Version) bool { return c.read.Same(v) }

// Settled reports whether the last look saw the version that was read last.
func (c *Changes) Settled() bool { return c.n == 0 }

// Overdue reports whether the file has been changing for so long that it is to
// be read as it is.
func (c *Changes) Overdue() bool { return c.n >= maxUnsettled }
