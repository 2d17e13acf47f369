package forms

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// StoredFile is a file of a submission. Its content is in the store.
type StoredFile struct {
	ID      int64  `json:"id"` // of its content in the store
	FieldID string `json:"fieldId"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"` // of its content, in lower-case hexadecimal digits
	Type    string `json:"type"`   // media type, found by looking at the content
}

// EncodeFiles returns files as they are stored: nil for none, else a JSON array.
func EncodeFiles(files []StoredFile) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(files)
	if err != nil {
		return nil, fmt.Errorf("encode files: %w", err)
	}
	return text, nil
}

// DecodeFiles reads what EncodeFiles has written.
func DecodeFiles(text []byte) ([]StoredFile, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var files []StoredFile
	if err := json.Unmarshal(text, &files); err != nil {
		return nil, fmt.Errorf("decode stored files: %w", err)
	}
	return files, nil
}

// CheckFileSize returns what is wrong with the size of a file, or "".
func (f *Field) CheckFileSize(size int64) string {
	if f.MaxSize == 0 || size <= f.MaxSize {
		return ""
	}
	return "must be at most " + SizeText(f.MaxSize)
}

// SizeText is a number of bytes as people write it. It is rounded down: a limit must
// not promise more than it allows.
func SizeText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= unit.size {
			tenths := float64(n/(unit.size/10)) / 10
			return strconv.FormatFloat(tenths, 'f', -1, 64) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
