package forms

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAppendTextIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		value := Value(AppendJSONString(nil, text))
		if got, err := value.AppendText([]byte("before")); err != nil || string(got) != "before"+text {
			t.Fatalf("%s: %q, %v", value, got, err)
		}
	})
}

// A store that was edited by hand may have other escapes than those that are
// written here.
func TestAppendTextOfOtherEscapes(t *testing.T) {
	for value, want := range map[string]string{
		`"\/\b\f"`: "/\b\f", `"a\u0041\u00e9"`: "aAé", `"\ud83d\ude42"`: "🙂", `"\u001F"`: "\x1f", `"\u0020"`: " ", `"x\n\u20ac"`: "x\n€", `""`: "",
	} {
		text, err := Value(value).Text()
		got, appendErr := Value(value).AppendText([]byte("before"))
		if err != nil || appendErr != nil || text != want || string(got) != "before"+want {
			t.Errorf("%s: %q, %v; Text is %q, %v", value, got, appendErr, text, err)
		}
	}
	for _, value := range []string{`"\x"`, `"\"`, `"\u00"`, `"\u00zz"`, `"\u00-1"`, `"\u00+1"`} {
		if got, err := Value(value).AppendText([]byte("before")); err == nil || string(got) != "before" {
			t.Errorf("%s: %q, %v", value, got, err)
		}
	}
	if got, err := Value(nil).AppendText(nil); err != nil || got != nil {
		t.Errorf("nothing: %q, %v", got, err)
	}
}

func TestAppendTextNeedsNoAllocation(t *testing.T) {
	value := Value(AppendJSONString(nil, strings.Repeat("a \"b\"\n\t\x01", 100)))
	dst := make([]byte, 0, len(value))
	if n := testing.AllocsPerRun(100, func() { dst, _ = value.AppendText(dst[:0]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 67_999_999, time.FixedZone("", 3600))
	if got := string(AppendTime([]byte("at "), at)); got != "at 2026-01-02T02:04:05.067" {
		t.Error(got)
	}
}
