package sqlite

import (
	"bytes"
	"encoding/binary"

	"github.com/ncruces/go-sqlite3"
)

// Every page of a database ends with a checksum over what is before it. The
// driver writes and verifies it in databases that reserve these bytes in each
// page, which their header tells. The driver's checksum of a page of zeros is zero,
// too, but a page that a disk has lost may read as zeros: on the disk the checksum
// of such a page is zeroSum, and a page that is all zero is damaged.
const (
	checksumBytes = 8
	pageBytes     = 4096
	headerBytes   = 100 // of the first page
)

// Where the header has the number of reserved bytes, and the application's id.
const (
	reservedOffset    = 20
	applicationOffset = 68
)

var (
	zeroPage [pageBytes]byte
	zeroSum  = bytes.Repeat([]byte{0xff}, checksumBytes)
)

// requestChecksums makes a database that is written for the first time, or
// copied by VACUUM, have checksums. It does not change one that is there.
func requestChecksums(conn *sqlite3.Conn) error {
	_, err := conn.FileControl("main", sqlite3.FCNTL_RESERVE_BYTES, checksumBytes)
	return err
}

// hasChecksums reports whether the header of a database says that its pages have
// checksums. ok is false for a database of Formulary's that says otherwise: its
// header is damaged, and no page would be verified.
func hasChecksums(header []byte) (has, ok bool) {
	has = header[reservedOffset] == checksumBytes
	return has, has || binary.BigEndian.Uint32(header[applicationOffset:]) != applicationID
}

// checkZeros turns zeroSum, in a page that was read, into what the driver
// expects. It reports whether the page may be what was written.
func checkZeros(page []byte) (ok bool) {
	content, sum := page[:pageBytes-checksumBytes], page[pageBytes-checksumBytes:]
	if !bytes.Equal(content, zeroPage[:len(content)]) {
		return true // the driver verifies it
	}
	ok = bytes.Equal(sum, zeroSum)
	clear(sum)
	return ok
}

// checksum is that of a page without its last bytes.
func checksum(content []byte) []byte {
	var s1, s2 uint32
	for ; len(content) > 0; content = content[8:] {
		s1 += binary.LittleEndian.Uint32(content) + s2
		s2 += binary.LittleEndian.Uint32(content[4:]) + s1
	}
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, s1), s2)
}
