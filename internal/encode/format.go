package encode

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// encoder writes a list: its beginning, a row for each submission, and its end.
// Each method appends to dst and returns it. One encoder writes one list.
type encoder interface {
	Begin(dst []byte) ([]byte, error)
	Row(dst []byte, sub forms.Submission) ([]byte, error)
	End(dst []byte) ([]byte, error)
}

// Format is a format that lists can be had in.
type Format struct {
	Name      string   // the value of the parameter "format", and the extension of a file
	MediaType string   // in Accept, in lower case
	header    []string // Content-Type; never written to
}

// The formats. CSV and XLSX are tables of the flat model, whatever the model of
// the list is.
var (
	JSON   = &Format{"json", JSONType, jsonTypes}
	NDJSON = &Format{"ndjson", "application/x-ndjson", []string{"application/x-ndjson"}}
	CSV    = &Format{"csv", "text/csv", []string{"text/csv; charset=utf-8"}}
	XLSX   = &Format{"xlsx", request.XLSXType, []string{request.XLSXType}}
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

// pickFormat decides between the formats that a list can be had in. The
// parameter wins over the header.
func pickFormat(params *request.Params, header http.Header, offered []*Format) *Format {
	name, given := params.One("format")
	if !given {
		return accepted(header["Accept"], offered)
	}
	i := slices.IndexFunc(offered, func(k *Format) bool { return k.Name == name })
	if i < 0 {
		names := make([]string, len(offered))
		for i, kind := range offered {
			names[i] = kind.Name
		}
		last := len(names) - 1
		params.Invalid.AddError(forms.Say("format must be {0} or {1} for this list", names[:last], names[last]))
		return JSON
	}
	return offered[i]
}

// accepted is the format that Accept prefers. Of the formats that it names, the one
// with the highest q wins; the first one on a tie. A wildcard means JSON, and so does
// a header that names none of the formats: clients that know nothing of formats get
// what they always got.
func accepted(accept []string, offered []*Format) *Format {
	var best *Format
	var bestQuality, wildcard float64
	for element := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaRange, parameters, err := mime.ParseMediaType(element)
		quality := 1.0
		if q, given := parameters["q"]; given {
			quality, err = strconv.ParseFloat(q, 64)
		}
		i := slices.IndexFunc(offered, func(k *Format) bool { return k.MediaType == mediaRange })
		switch {
		case err != nil || !(0 <= quality && quality <= 1): // not acceptable; not a number is out of range, too
		case mediaRange == "*/*" || mediaRange == "application/*":
			wildcard = max(wildcard, quality)
		case i >= 0 && quality > bestQuality:
			best, bestQuality = offered[i], quality
		}
	}
	if wildcard > bestQuality {
		return JSON
	}
	return cmp.Or(best, JSON)
}
