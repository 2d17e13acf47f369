package sqlite

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// SQLite ignores all of the WAL from the first frame on that does not match its
// checksum: that is how it finds the end of the log after a crash. So a bit that
// the disk has changed would make SQLite drop every transaction after it, without
// a word. checkWAL tells such damage from the end of the log.

// The format of a WAL (https://sqlite.org/fileformat2.html#walformat).
const (
	walHeaderBytes   = 32
	frameHeaderBytes = 24
	walMagic         = 0x377f0682 // the last bit tells the byte order of checksums: WebAssembly is always little-endian
	saltOffset       = 16         // of 8 bytes in the WAL's header
	frameSaltOffset  = 8          // of 8 bytes in a frame's header
)

// checkWAL returns an error if the WAL of a database is damaged such that SQLite
// would drop transactions that were committed. A server may write to the WAL
// meanwhile: damage is what is found at the same frame twice.
func checkWAL(path string) error {
	for last := -1; ; {
		found, err := readWAL(path)
		switch {
		case err != nil:
			return fmt.Errorf("check the write-ahead log: %w", err)
		case !found.damaged:
			return nil
		case found.valid == last:
			return fmt.Errorf("the write-ahead log %s-wal is damaged in frame %d: "+
				"submissions that were stored after that can't be read, and SQLite would drop them without a word. "+
				"Nothing was changed. Keep a copy of the directory, and restore the last backup into another one. "+
				"The sqlite3 shell reads what was stored before the damage", path, found.valid+1)
		}
		last = found.valid
	}
}

func readWAL(path string) (found frames, err error) {
	index := readIndex(path + "-shm") // before the WAL, which may grow
	log, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return frames{}, nil
	}
	if err != nil {
		return frames{}, err
	}
	defer log.Close()
	header := make([]byte, walHeaderBytes)
	switch _, err := io.ReadFull(log, header); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return frames{}, nil // it holds nothing
	case err != nil:
		return frames{}, err
	}
	found, err = readFrames(bufio.NewReaderSize(log, 1<<20), header)
	if index.salt == [8]byte(header[saltOffset:]) && index.frames > found.committed {
		found.damaged = true
	}
	return found, err
}

// frames is what was found in a WAL.
type frames struct {
	valid     int  // frames that SQLite takes
	committed int  // of these, up to the end of the last transaction
	damaged   bool // there are transactions after those
}

// readFrames reads the frames after the header. The checksum of a frame begins
// with that of the frame before, so frames after a bad one can be verified by
// themselves. They may be what is left of a transaction that was not finished: a
// crash may leave any part of it, and a full disk its beginning. But a frame
// that goes on from the end of a transaction proves that the transaction was
// committed, since each is on the disk before the next one begins.
func readFrames(r io.Reader, header []byte) (found frames, err error) {
	sum := fletcher{}.add(header[:24])
	number := binary.BigEndian.Uint32
	ok := number(header)&^1 == walMagic && number(header[8:]) == pageBytes && sum == readSum(header[24:])
	frame := make([]byte, frameBytes)
	passed, ended := false, false // ended: the frame before is the last of a transaction
	for ; ; sum = readSum(frame[16:]) {
		if _, err := io.ReadFull(r, frame); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return found, nil
		} else if err != nil {
			return found, err
		}
		ours := bytes.Equal(frame[frameSaltOffset:16], header[saltOffset:24])
		valid := ours && sum.add(frame[:8]).add(frame[frameHeaderBytes:]) == readSum(frame[16:])
		commits := ours && number(frame[4:]) != 0
		passed = passed || !valid
		switch {
		case !ok, passed && valid && ended: // the header is on the disk before the first frame
			found.damaged = true
			return found, nil
		case !passed:
			found.valid++
			if commits {
				found.committed = found.valid
			}
		}
		ended = commits
	}
}

// fletcher is the checksum of SQLite's WAL, and of pages of a database.
type fletcher [2]uint32

func readSum(b []byte) fletcher {
	return fletcher{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// add returns the checksum with further data in it.
func (s fletcher) add(data []byte) fletcher {
	for ; len(data) >= 8; data = data[8:] {
		s[0] += binary.LittleEndian.Uint32(data) + s[1]
		s[1] += binary.LittleEndian.Uint32(data[4:]) + s[0]
	}
	return s
}

// indexed is what the index of a WAL knows of it.
type indexed struct {
	frames int // that are committed, and on the disk
	salt   [8]byte
}

// readIndex reads the index of the WAL. SQLite writes it after each commit,
// and twice, so that one that is written half is noticed. After a crash of the
// system it may be older than the WAL, but never newer.
func readIndex(path string) indexed {
	const size, maxFrame, salt = 48, 16, 32
	f, err := os.Open(path)
	if err != nil {
		return indexed{}
	}
	defer f.Close()
	header := make([]byte, 2*size)
	if _, err := io.ReadFull(f, header); err != nil || !bytes.Equal(header[:size], header[size:]) {
		return indexed{}
	}
	return indexed{int(binary.LittleEndian.Uint32(header[maxFrame:])), [8]byte(header[salt:])}
}
