package sqlite

import (
	"bytes"
	"encoding/binary"

	"github.com/ncruces/go-sqlite3"
)

// Every page of a database ends with a checksum over what is before it. The
// driver writes and verifies it in databases that reserve these bytes in each
// page, which their header tells.
const (
	checksumBytes  = 8
	pageBytes      = 4096
	reservedOffset = 20 // in the header, which is at the beginning of the first page
)

// requestChecksums makes a database that is written for the first time, or
// copied by VACUUM, have checksums. It does not change one that is there.
func requestChecksums(conn *sqlite3.Conn) error {
	_, err := conn.FileControl("main", sqlite3.FCNTL_RESERVE_BYTES, checksumBytes)
	return err
}

// lostChecksums reports whether the first page ends with a valid checksum while
// its header says that there are none: damage of that byte of the header would
// disable the verification.
func lostChecksums(page []byte) bool {
	if len(page) != pageBytes || page[reservedOffset] == checksumBytes {
		return false
	}
	whole := bytes.Clone(page)
	whole[reservedOffset] = checksumBytes
	content, sum := whole[:pageBytes-checksumBytes], whole[pageBytes-checksumBytes:]
	return bytes.Equal(checksum(content), sum)
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
