package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// FuzzDecode: no body makes the decoders panic; a refusal is always a
// validation result that is JSON itself; and what is accepted says the same
// when it is written down again.
func FuzzDecode(f *testing.F) {
	for _, c := range slices.Concat(notJSON, nestedFaults, flatFaults) {
		if len(c.body) < 1000 {
			f.Add([]byte(c.body))
		}
	}
	f.Add([]byte(nestedBody("a", "b", "c", "d;e")))
	f.Add([]byte(`{"a":"b","_c":{"d":[1,null]},"e":["f","g\u00e9"],"id":7}`))
	f.Add([]byte(`{"fields":{"a":{"id":5,"fieldId":"a","value":["x","\ud83d\ude00"]}},"timestamp":"x","pageId":1e400}`))
	b := request.NewBackend(request.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, d := range map[string]decoder{"nested": nested, "flat": flat} {
			answers, err := decodeBytes(b, d, data)
			if err != nil {
				checkRefusal(t, err)
				continue
			}
			checkAnswers(t, name, data, answers)
			again := encodeAnswers(name, answers)
			reread, err := decodeBytes(b, d, again)
			if err != nil {
				t.Fatalf("%s: %q was accepted, but not when written down as %q: %v", name, data, again, err)
			}
			if diff := cmp.Diff(faultless(answers), reread, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: %q, written down as %q (-first +again):\n%s", name, data, again, diff)
			}
		}
	})
}

func decodeBytes(b *request.Backend, d decoder, data []byte) ([]forms.Answer, error) {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(data))
	r.Header.Set("Content-Type", "application/json")
	return decode(httptest.NewRecorder(), b.NewCall(httptest.NewRecorder(), r, auth.Identity{}), &forms.Form{}, d)
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	var invalid *forms.Invalid
	if !errors.As(err, &invalid) || invalid.Err() == nil {
		t.Fatalf("refused with %T %v, which is no validation result", err, err)
	}
	if text := string(encode.Invalid(invalid)); strictJSON(text) != nil {
		t.Fatalf("refused with %q: %v", text, strictJSON(text))
	}
}

// checkAnswers holds them against another reader of JSON.
func checkAnswers(t *testing.T, model string, data []byte, answers []forms.Answer) {
	t.Helper()
	var other map[string]any
	if err := json.Unmarshal(data, &other); err != nil && !strings.Contains(err.Error(), "number") {
		t.Fatalf("accepted %q, which encoding/json refuses: %v", data, err)
	}
	for _, a := range answers {
		if !utf8.ValidString(a.FieldID) || !utf8.ValidString(a.Value) || !utf8.ValidString(a.Malformed.String()) {
			t.Fatalf("%q gives text that is not UTF-8: %+v", data, a)
		}
		if a.Malformed != nil || a.IsList || other == nil {
			continue
		}
		want := other[a.FieldID]
		if model == "nested" {
			want = other["fields"].(map[string]any)[a.FieldID].(map[string]any)["value"]
		}
		if want != a.Value {
			t.Fatalf("%q: %s is read as %q, want %q", data, a.FieldID, a.Value, want)
		}
	}
}

// FuzzParseTags: no header makes the parser panic; a list that is accepted says
// the same when it is written down again.
func FuzzParseTags(f *testing.F) {
	for _, s := range []string{"*", `"a"`, `W/"a", "b"`, ` , "",,`, `"a,b"`, `"a" "b"`, `"`, "", `*,"a"`, "\"\x80\"", `W/"*"`} {
		f.Add(s, "")
	}
	f.Add(`"a"`, `W/"b"`)
	f.Fuzz(func(t *testing.T, first, second string) {
		lines := []string{first, second}
		list, err := parseTags("If-Match", lines)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		for _, tag := range list {
			opaque := strings.TrimPrefix(tag, "W/")
			inner, ok := strings.CutPrefix(strings.TrimSuffix(opaque, `"`), `"`)
			if tag != anyTag && (!ok || len(inner) != len(opaque)-2 || strings.ContainsAny(inner, "\" \t\x7f")) {
				t.Fatalf("%q: tag %q", lines, tag)
			}
		}
		if reread, err := parseTags("If-Match", list); err != nil || !slices.Equal(reread, list) {
			t.Fatalf("%q is %q, written down again it is %q, %v", lines, list, reread, err)
		}
	})
}

func faultless(answers []forms.Answer) []forms.Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a forms.Answer) bool { return a.Malformed != nil })
}

func encodeAnswers(model string, answers []forms.Answer) []byte {
	b := []byte("{")
	for i, a := range faultless(answers) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, a.FieldID), ':')
		if model == "nested" {
			b = append(appendString(append(b, `{"fieldId":`...), a.FieldID), `,"value":`...)
		}
		b = appendValue(b, a)
		if model == "nested" {
			b = append(b, '}')
		}
	}
	b = append(b, '}')
	if model == "nested" {
		return append(append([]byte(`{"fields":`), b...), '}')
	}
	return b
}

func appendValue(b []byte, a forms.Answer) []byte {
	if !a.IsList {
		return appendString(b, a.Value)
	}
	b = append(b, '[')
	for i, s := range a.List {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}
