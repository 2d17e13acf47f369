package forms

import (
	"testing"
	"time"
)

// A store that was edited by hand may have other escapes than those that are
// written here.
func TestTextWithOtherEscapes(t *testing.T) {
	for value, want := range map[string]string{
		`"\/\b\f"`: "/\b\f", `"a\u0041\u00e9"`: "aAé", `"\ud83d\ude42"`: "🙂", `"\u001F"`: "\x1f", `"\u0020"`: " ", `"x\n\u20ac"`: "x\n€", `""`: "",
	} {
		if text, err := Value(value).Text(); err != nil || text != want {
			t.Errorf("%s: %q, %v", value, text, err)
		}
	}
	for _, value := range []string{`"\x"`, `"\"`, `"\u00"`, `"\u00zz"`, `"\u00-1"`, `"\u00+1"`} {
		if got, err := Value(value).Text(); err == nil {
			t.Errorf("%s: %q", value, got)
		}
	}
	if got, err := Value(nil).Text(); err != nil || got != "" {
		t.Errorf("nothing: %q, %v", got, err)
	}
}

func TestAppendTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 67_999_999, time.FixedZone("", 3600))
	if got := string(AppendTime([]byte("at "), at)); got != "at 2026-01-02T02:04:05.067" {
		t.Error(got)
	}
}
