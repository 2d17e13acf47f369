package encode

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/formulary/formulary/internal/forms"
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
		Options  []forms.OptionCount `json:"options,omitzero"`
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
		Options  []forms.OptionCount `json:"options,omitzero"`
		*numbersJSON
	}
	numbersJSON struct {
		Min  *float64    `json:"min"`
		Max  *float64    `json:"max"`
		Mean *float64    `json:"mean"`
		Sum  *float64    `json:"sum"`
		Bins []forms.Bin `json:"bins"`
	}
)

// WriteSummary answers with the summary of a form's submissions.
func WriteSummary(w http.ResponseWriter, s forms.Summary) {
	fields := slices.All(s.Fields)
	summary := summaryJSON{
		Count: s.Count, First: timeOrNull(s.First), Last: timeOrNull(s.Last),
		Fields: membersOf(fields, func(_ int, f forms.FieldSummary) (string, fieldSummaryJSON) {
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
		group := func(rank int, f forms.FieldSummary) (string, groupFieldJSON) {
			return f.ID, newGroupField(g.Field(rank))
		}
		summary.Groups[i] = groupJSON{g.Value, g.Count, membersOf(fields, group)}
	}
	setJSON(w.Header())
	_ = json.MarshalWrite(w, summary, jsonOptions) // a client that is gone can't be told
}

func newGroupField(f forms.FieldSummary) groupFieldJSON {
	field := groupFieldJSON{Answered: f.Answered, Options: f.Options}
	if n := f.Numbers; n != nil && f.Options == nil {
		field.totalsJSON = &totalsJSON{}
		if n.Count > 0 {
			field.Mean, field.Sum = &n.Mean, &n.Sum
		}
	}
	return field
}

func newFieldSummary(f forms.FieldSummary) fieldSummaryJSON {
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
