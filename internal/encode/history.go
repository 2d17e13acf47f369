package encode

import "github.com/formulary/formulary/internal/forms"

type (
	stepJSON struct {
		Timestamp string       `json:"timestamp"`
		Username  string       `json:"username"`
		Changes   []changeJSON `json:"changes"`
	}
	changeJSON struct {
		FieldID string `json:"fieldId"`
		Before  string `json:"before"`
		After   string `json:"after"`
	}
)

// History is the changes of a submission.
func History(steps []forms.Step) []byte {
	history := make([]stepJSON, len(steps))
	for i, s := range steps {
		history[i] = stepJSON{Timestamp: string(appendTimestamp(nil, s.At)), Username: s.Username}
		for _, c := range s.Changes {
			history[i].Changes = append(history[i].Changes, changeJSON(c))
		}
	}
	return marshal(history)
}
