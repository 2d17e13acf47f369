package encode

import (
	"time"

	"github.com/formulary/formulary/internal/forms"
)

type (
	summaryJSON struct {
		Count  int64                     `json:"count"`
		First  *string                   `json:"first"`
		Last   *string                   `json:"last"`
		Days   []dayJSON                 `json:"days"`
		Fields members[fieldSummaryJSON] `json:"fields"`
	}
	dayJSON struct {
		Day   string `json:"day"`
		Count int64  `json:"count"`
	}
	fieldSummaryJSON struct {
		Answered int64        `json:"answered"`
		Options  []optionJSON `json:"options,omitzero"`
		*numbersJSON
	}
	optionJSON struct {
		Value string `json:"value"`
		Count int64  `json:"count"`
	}
	numbersJSON struct {
		Min  *float64  `json:"min"`
		Max  *float64  `json:"max"`
		Mean *float64  `json:"mean"`
		Bins []binJSON `json:"bins"`
	}
	binJSON struct {
		From  float64 `json:"from"`
		To    float64 `json:"to"`
		Count int64   `json:"count"`
	}
)

// Summary is the summary of a form's submissions.
func Summary(s forms.Summary) []byte {
	summary := summaryJSON{Count: s.Count, First: timeOrNull(s.First), Last: timeOrNull(s.Last)}
	for _, f := range s.Fields {
		summary.Fields = append(summary.Fields, member[fieldSummaryJSON]{f.ID, newFieldSummary(f)})
	}
	for _, d := range s.Days {
		summary.Days = append(summary.Days, dayJSON{d.Day.Format(time.DateOnly), d.Count})
	}
	return marshal(summary)
}

func newFieldSummary(f forms.FieldSummary) fieldSummaryJSON {
	summary := fieldSummaryJSON{Answered: f.Answered}
	for _, o := range f.Options {
		summary.Options = append(summary.Options, optionJSON(o))
	}
	if n := f.Numbers; n != nil {
		summary.numbersJSON = &numbersJSON{}
		if n.Count > 0 {
			summary.Min, summary.Max, summary.Mean = &n.Min, &n.Max, &n.Mean
			for _, b := range n.Bins {
				summary.Bins = append(summary.Bins, binJSON(b))
			}
		}
	}
	return summary
}

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := string(appendTimestamp(nil, t))
	return &text
}
