package encode

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// AppendSummary writes the summary of a form's submissions.
func AppendSummary(dst []byte, s forms.Summary) []byte {
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, s.Count, 10)
	dst = append(dst, `,"first":`...)
	dst = appendTimeOrNull(dst, s.First)
	dst = append(dst, `,"last":`...)
	dst = appendTimeOrNull(dst, s.Last)
	dst = append(dst, `,"days":[`...)
	for i, d := range s.Days {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"day":"`...)
		dst = d.Day.AppendFormat(dst, time.DateOnly)
		dst = append(dst, `","count":`...)
		dst = append(strconv.AppendInt(dst, d.Count, 10), '}')
	}
	dst = append(dst, `],"fields":{`...)
	for rank, f := range s.Fields {
		if rank > 0 {
			dst = append(dst, ',')
		}
		dst = appendFieldSummary(dst, f)
	}
	return append(dst, "}}"...)
}

func appendFieldSummary(dst []byte, f forms.FieldSummary) []byte {
	dst = appendString(dst, f.ID)
	dst = append(dst, `:{"answered":`...)
	dst = strconv.AppendInt(dst, f.Answered, 10)
	if f.Options != nil {
		dst = append(dst, `,"options":[`...)
		for i, o := range f.Options {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"value":`...)
			dst = appendString(dst, o.Value)
			dst = append(dst, `,"count":`...)
			dst = append(strconv.AppendInt(dst, o.Count, 10), '}')
		}
		dst = append(dst, ']')
	}
	if f.Numbers != nil {
		dst = appendNumbers(dst, f.Numbers)
	}
	return append(dst, '}')
}

func appendNumbers(dst []byte, n *forms.Numbers) []byte {
	if n.Count == 0 {
		return append(dst, `,"min":null,"max":null,"mean":null,"bins":[]`...)
	}
	dst = appendNumber(append(dst, `,"min":`...), n.Min)
	dst = appendNumber(append(dst, `,"max":`...), n.Max)
	dst = appendNumber(append(dst, `,"mean":`...), n.Mean)
	dst = append(dst, `,"bins":[`...)
	for i, b := range n.Bins {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNumber(append(dst, `{"from":`...), b.From)
		dst = appendNumber(append(dst, `,"to":`...), b.To)
		dst = append(dst, `,"count":`...)
		dst = append(strconv.AppendInt(dst, b.Count, 10), '}')
	}
	return append(dst, ']')
}

// appendNumber writes a finite number.
func appendNumber(dst []byte, x float64) []byte {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // see forms.Numbers
	}
	return append(dst, text...)
}

func appendTimeOrNull(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	return append(appendTimestamp(append(dst, '"'), t), '"')
}
