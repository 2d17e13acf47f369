package query

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// TestSummariesTakeLittleMemory: a summary takes at most the memory of a large answer, and groups that would take
// more are refused. Each submission answers each field, with other values.
func TestSummariesTakeLittleMemory(t *testing.T) {
	options := make([]string, 44)
	for i := range options {
		options[i] = strconv.Itoa(i)
	}
	few := options[:3]
	for name, tt := range map[string]struct {
		field   forms.Field
		fields  int
		value   func(i int) string
		refused bool
	}{
		"options":       {forms.Field{Type: forms.Checkbox, Options: options}, 800, func(int) string { return strings.Join(options, ";") }, true},
		"few options":   {forms.Field{Type: forms.Checkbox, Options: few}, 400, func(int) string { return "0;1;2" }, false},
		"other options": {forms.Field{Type: forms.Radio, Options: few}, 500, func(i int) string { return fmt.Sprint(strings.Repeat("x", 190), i) }, false},
		"numbers":       {forms.Field{Validation: forms.Numeric}, 900, strconv.Itoa, false},
		"months":        {forms.Field{Validation: forms.DateOnly}, 900, func(i int) string { return fmt.Sprintf("%d-01-31", i+1900) }, false},
		"texts":         {forms.Field{Type: forms.Textbox}, 900, func(int) string { return strings.Repeat("x", 300) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &forms.Form{Fields: []*forms.Field{{ID: "by", Options: options}}}
			for i := range tt.fields {
				field := tt.field
				field.ID = fmt.Sprint("field", i)
				f.Fields = append(f.Fields, &field)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s, err := newSummarizer(f, time.UTC, 0), error(nil)
			for i := 0; i < 60 && err == nil; i++ {
				answers := []string{"by", strconv.Itoa(i % 44)}
				for _, field := range f.Fields[1:] {
					answers = append(answers, field.ID, tt.value(i))
				}
				err = s.Add(survey(int64(i+1), "", answers...))
			}
			sum := s.Summary()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if _, refused := errors.AsType[*forms.Invalid](err); refused != tt.refused || !refused && len(sum.Groups) != 44 {
				t.Errorf("%d groups, %v", len(sum.Groups), err)
			}
			if taken := int64(after.HeapAlloc) - int64(before.HeapAlloc); taken > 6<<20 {
				t.Errorf("it takes %d bytes", taken)
			}
			runtime.KeepAlive(s)
		})
	}
}
