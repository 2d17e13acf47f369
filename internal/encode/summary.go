package encode

import (
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/formulary/formulary/internal/query"
)

type (
	summaryJSON struct {
		Count  int64                     `json:"count"`
		First  *string                   `json:"first"`
		Last   *string                   `json:"last"`
		Days   []dayJSON                 `json:"days"`
		Fields members[fieldSummaryJSON] `json:"fields"`
		Groups []groupJSON               `json:"groups,omitzero"`
	}
	groupJSON struct {
		Value  string                  `json:"value"`
		Count  int64                   `json:"count"`
		Fields members[groupFieldJSON] `json:"fields"`
	}
	groupFieldJSON struct {
		Answered int64               `json:"answered"`
		Options  []query.OptionCount `json:"options,omitzero"`
		*totalsJSON
	}
	totalsJSON struct {
		Mean *float64 `json:"mean"`
		Sum  *float64 `json:"sum"`
	}
	dayJSON struct {
		Day   string `json:"day"`
		Count int64  `json:"count"`
	}
	fieldSummaryJSON struct {
		Answered int64               `json:"answered"`
		Options  []query.OptionCount `json:"options,omitzero"`
		*numbersJSON
	}
	numbersJSON struct {
		Min  *float64    `json:"min"`
		Max  *float64    `json:"max"`
		Mean *float64    `json:"mean"`
		Sum  *float64    `json:"sum"`
		Bins []query.Bin `json:"bins"`
	}
)

// WriteSummary writes the summary of a form's submissions.
func WriteSummary(w io.Writer, s query.Summary) error {
	fields := slices.All(s.Fields)
	summary := summaryJSON{
		Count: s.Count, First: timeOrNull(s.First), Last: timeOrNull(s.Last),
		Fields: membersOf(fields, func(_ int, f query.FieldSummary) (string, fieldSummaryJSON) {
			return f.ID, newFieldSummary(f)
		}),
	}
	for _, d := range s.Days {
		summary.Days = append(summary.Days, dayJSON{d.Day.Format(time.DateOnly), d.Count})
	}
	if s.Groups != nil {
		summary.Groups = make([]groupJSON, len(s.Groups))
	}
	for i, g := range s.Groups {
		group := func(rank int, f query.FieldSummary) (string, groupFieldJSON) {
			return f.ID, newGroupField(g.Field(rank))
		}
		summary.Groups[i] = groupJSON{g.Value, g.Count, membersOf(fields, group)}
	}
	return json.MarshalWrite(w, summary, jsonOptions)
}

func newGroupField(f query.FieldSummary) groupFieldJSON {
	field := groupFieldJSON{Answered: f.Answered, Options: f.Options}
	if n := f.Numbers; n != nil && f.Options == nil {
		field.totalsJSON = &totalsJSON{}
		if n.Count > 0 {
			field.Mean, field.Sum = &n.Mean, &n.Sum
		}
	}
	return field
}

func newFieldSummary(f query.FieldSummary) fieldSummaryJSON {
	summary := fieldSummaryJSON{Answered: f.Answered, Options: f.Options}
	if n := f.Numbers; n != nil && f.Options == nil {
		summary.numbersJSON = &numbersJSON{}
		if n.Count > 0 {
			summary.numbersJSON = &numbersJSON{&n.Min, &n.Max, &n.Mean, &n.Sum, n.Bins}
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
