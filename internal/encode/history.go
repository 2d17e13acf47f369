package encode

import "github.com/formulary/formulary/internal/forms"

type stepJSON struct {
	Timestamp string              `json:"timestamp"`
	Username  string              `json:"username"`
	Changes   []forms.ValueChange `json:"changes"`
}

// History is the changes of a submission.
func History(steps []forms.Step) []byte {
	history := make([]stepJSON, len(steps))
	for i, s := range steps {
		history[i] = newStep(s)
	}
	return marshal(history)
}

func newStep(s forms.Step) stepJSON {
	return stepJSON{string(appendTimestamp(nil, s.At)), s.Username, s.Changes}
}

// Step is one of History by itself, with the submission that it belongs to.
func Step(sub forms.Submission, s forms.Step) []byte {
	return marshal(struct {
		PageID int64  `json:"pageId"`
		FormID string `json:"formId"`
		ID     int64  `json:"id"`
		stepJSON
	}{sub.PageID, sub.FormID, sub.ID, newStep(s)})
}
