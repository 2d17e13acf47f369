package forms_test

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func TestMessageInEnglish(t *testing.T) {
	at := time.Date(2026, 11, 18, 9, 5, 0, 0, time.UTC)
	for _, tt := range []struct {
		message *forms.Message
		want    string
	}{
		{nil, ""},
		{forms.Say("is required"), "is required"},
		{forms.Say("{1} before {0}", "a", "b"), "b before a"},
		{forms.Say("{0} and {1}", "{1}", "b"), "{1} and b"}, // a text of somebody else's
		{forms.English("{0} is what it is"), "{0} is what it is"},
		{forms.Say("one of {0}", []string{"a", "b", "c"}), "one of a, b, c"},
		{forms.Say("at most {0}", forms.Say("{0} MB", 1.5)), "at most 1.5 MB"},
		{forms.Join([]*forms.Message{forms.Say("a"), forms.Say("{0}", "b")}), "a; b"},
		{forms.Say("{0} GB", 1234567.5), "1234567.5 GB"},
		{forms.Say("on {0} at {1}", forms.Plain("2026-01-31"), at), "on 2026-01-31 at 2026-11-18 09:05:00 (UTC)"},
		{forms.SayN("{0} error", "{0} errors", 1), "1 error"},
		{forms.Named("a", forms.Say("is required")), "a is required"},
		{forms.Named(forms.Say("“{0}”", "a"), forms.Say("is from {0} to {1}", 1, 2)), "“a” is from 1 to 2"},
		{forms.Named("a", forms.SayN("has {0} error", "has {0} errors", 1)), "a has 1 error"},
		{forms.SayN("{0} error in {1}", "{0} errors in {1}", 12345, "a"), "12345 errors in a"},
	} {
		testkit.Same(t, tt.message, tt.message.String(), tt.want)
	}
}
