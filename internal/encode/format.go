package encode

import "github.com/formulary/formulary/internal/forms"

// encoder writes a list: its beginning, a row for each submission, and its end.
// Each method appends to dst and returns it. One encoder writes one list.
type encoder interface {
	Begin(dst []byte) ([]byte, error)
	Row(dst []byte, sub forms.Submission) ([]byte, error)
	End(dst []byte) ([]byte, error)
}

// Format is a format that lists can be had in.
type Format struct {
	Name        string   // the value of the parameter "format", and the extension of a file
	MediaType   string   // in Accept, in lower case
	ContentType []string // the header; never written to
}

// JSONType is the media type of JSON.
const JSONType = "application/json"

const xlsxType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// The formats. CSV and XLSX are tables of the flat model, whatever the model of
// the list is.
var (
	JSON   = &Format{"json", JSONType, []string{JSONType}}
	NDJSON = &Format{"ndjson", "application/x-ndjson", []string{"application/x-ndjson"}}
	CSV    = &Format{"csv", "text/csv", []string{"text/csv; charset=utf-8"}}
	XLSX   = &Format{"xlsx", xlsxType, []string{xlsxType}}
)

// jsonRows is a list of JSON values: an array, or one value per line.
type jsonRows struct {
	begin, separator, rowEnd, end string
	appendRow                     Appender
	begun                         bool // with its rows
}

func (j *jsonRows) Begin(dst []byte) ([]byte, error) { return append(dst, j.begin...), nil }

func (j *jsonRows) Row(dst []byte, sub forms.Submission) ([]byte, error) {
	if j.begun {
		dst = append(dst, j.separator...)
	}
	j.begun = true
	dst, err := j.appendRow(dst, sub)
	return append(dst, j.rowEnd...), err
}

func (j *jsonRows) End(dst []byte) ([]byte, error) { return append(dst, j.end...), nil }
