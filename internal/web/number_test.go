package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// writtenNumbers are numbers as people write them, and as they are stored.
var writtenNumbers = map[string]string{
	"12": "12", "-3.5": "-3.5", "7,50": "7.50", "0,125": "0.125", "0.125": "0.125", "01,000": "01.000", "1234.567": "1234.567", "1234,567": "1234.567",
	"1.0000": "1.0000", "1,0000": "1.0000", "1000": "1000", "1,23": "1.23", "1 000": "1000", "1'000": "1000", "1’000": "1000", "1\u00a0000": "1000",
	"1\u202f000,5": "1000.5", "12\u2009345.678": "12345.678", "-1 000 000": "-1000000", "1.234,50": "1234.50", "1,234.50": "1234.50",
	"1.234,567": "1234.567", "-1,234.567": "-1234.567", "1.234.567": "1234567", "1,234,567": "1234567", "1,234,567.8": "1234567.8", "1.234.567,8": "1234567.8",
}

var ambiguousNumbers = []string{"1.000", "1,000", "999,999", "-12.345"}

// noNumbers are left as they were typed.
var noNumbers = []string{
	"seven", "1,2,3", "7,", ",5", "1 00", "1 0000", "12.34,50", "1234,567.8", "0 125", "0.125,5", "1.234 567", "1,234.567,8", "1''000", "1 000 00", "+1 000", "1e3", "1.",
}

// A number is stored plainly, however people write it. One that can mean two is refused.
func TestNumbers(t *testing.T) {
	for typed, want := range writtenNumbers {
		if got := plainNumber(typed); got != want || twoMeanings(got) != nil || !forms.IsDecimal(got) {
			t.Errorf("%q is read as %q, want %q; %s", typed, got, want, twoMeanings(got))
		}
	}
	for _, typed := range noNumbers {
		if got := plainNumber(typed); got != typed || twoMeanings(got) != nil || forms.IsDecimal(got) {
			t.Errorf("%q is read as %q; %s", typed, got, twoMeanings(got))
		}
	}
	for _, typed := range ambiguousNumbers {
		var either [2]string
		message := twoMeanings(typed)
		before, _, _ := strings.Cut(message.String(), ":")
		if _, err := fmt.Sscanf(before, "must be written as %s or as %s", &either[0], &either[1]); err != nil || plainNumber(typed) != typed {
			t.Errorf("%q is read as %q: %s", typed, plainNumber(typed), message)
		}
		for _, number := range either {
			if plainNumber(number) != number || twoMeanings(number) != nil || !forms.IsDecimal(number) {
				t.Errorf("%q: %s, which is not taken", typed, message)
			}
		}
	}
	if got := twoMeanings("-1,234").String(); got != "must be written as -1234 or as -1.2340: -1,234 can mean either" {
		t.Error(got)
	}
}

// What the page has filled in is not looked at again: the default, what the address says,
// and what is stored.
func TestAmbiguousNumbers(t *testing.T) {
	e, b := newAlice(t, page1("", `form: price
fields:
  - {id: price, type: textfield, label: Price, validate: numeric}
  - {id: rate, type: textfield, label: Rate, validate: numeric, default: 2.125}
  - {id: name, type: textfield, label: Name, required: true}
  - {id: code, type: textfield, label: Code}
`))
	const form, refusal = "/page/1/form/price", "“Price” must be written as 1000 or as 1.0000: 1,000 can mean either"
	p := b.fill(form, "price", "1,000", "name", "n")
	p.want(422, refusal)
	p.wantValues("price", "1,000", "rate", "2.125")
	p = b.send(form, with(p.values(), "_update", "1"))
	p = b.send(form, p.values())
	p.want(422, refusal) // "Update questions" does not count as filling it in
	b.send(form, with(p.values(), "price", "1.0000", "code", "1.000")).want(200)
	e.wantStored("price", "price", "1.0000", "rate", "2.125", "code", "1.000")

	// The address fills in one of them. The form is refused for another reason, and the
	// session ends.
	filled := b.get(form + "?price=1.000")
	p = b.send(filled.action(), filled.values())
	p.want(422, "“Name” is required")
	p.wantNoHTML("can mean either")
	b.send(p.action(), with(p.values(), "name", "n", "price", "2.000")).want(422, "2.000 can mean either")
	b.send(form, with(p.values(), "name", "n")).want(422, "1.000 can mean either")
	e.Clock.Advance(13 * time.Hour)
	p = b.send(p.action(), with(p.values(), "name", "n"))
	p = b.send(p.action(), p.signedInAgain())
	p = b.send(p.action(), p.values())
	p.want(200, "This is what was sent")
	e.wantStored("price", "price", "1.000", "rate", "2.125")

	change := p.submission() + "/change"
	b.fill(change, "name", "m").want(200)
	e.wantStored("price", "price", "1.000", "rate", "2.125")
	p = b.fill(change, "rate", "1.000")
	p.want(422, "“Rate” must be written as 1000 or as 1.0000")
	b.send(change, with(p.values(), "rate", "1'000,5")).want(200)
	e.wantStored("price", "price", "1.000", "rate", "1000.5")
}
