package lang

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"

	"github.com/formulary/formulary/internal/forms"
)

// write writes an argument of a message.
func (l *Language) write(arg any) string {
	switch arg := arg.(type) {
	case string:
		return l.isolate(arg)
	case []string:
		parts := make([]string, len(arg))
		for i, part := range arg {
			parts[i] = l.isolate(part)
		}
		return strings.Join(parts, l.Text(", "))
	case *forms.Message:
		return l.Say(arg)
	case []*forms.Message:
		parts := make([]string, len(arg))
		for i, m := range arg {
			parts[i] = l.Say(m)
		}
		return strings.Join(parts, l.Text("; "))
	case forms.Plain:
		return l.Value(string(arg))
	case time.Time:
		return l.Time(arg) + " " + arg.Location().String()
	case int, int64:
		return l.Count(arg)
	case float64:
		return l.Number(strconv.FormatFloat(arg, 'f', -1, 64))
	default:
		return fmt.Sprint(arg)
	}
}

// isolate keeps the direction of a text from changing that of the sentence around it.
func (l *Language) isolate(text string) string {
	if l.RightToLeft {
		return "\u2068" + text + "\u2069"
	}
	return text
}

// Count writes an int or an int64, as in 12,345.
func (l *Language) Count(n any) string { return l.Number(strconv.FormatInt(integer(n), 10)) }

func integer(n any) int64 { return reflect.ValueOf(n).Int() }

// plural is the plural form that a number takes. That of a large one depends on its last six digits, and on that
// there are more.
func (l *Language) plural(n any) string {
	i := integer(n)
	if i > 1e6 {
		i = 1e6 + i%1e6
	}
	return categories[plural.Cardinal.MatchPlural(l.tag, int(i), 0, 0, 0, 0)]
}

// Number writes a decimal number, such as -1234.5, with marks between its digits.
func (l *Language) Number(text string) string {
	whole, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if len(whole) >= l.GroupsFrom {
		text = forms.GroupDigits(text)
	}
	return l.minus(l.digits.Replace(text))
}

// minus keeps the minus of a number before its digits where text runs from right to left, with a mark as CLDR has it.
func (l *Language) minus(number string) string {
	if l.RightToLeft && strings.HasPrefix(number, "-") {
		return "\u200e" + number
	}
	return number
}

// Day writes a day.
func (l *Language) Day(t time.Time) string { return l.layout(t, l.DayLayout) }

// DayText writes a day such as 2006-01-02. What is no day stays as it is.
func (l *Language) DayText(text string) string {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	return l.Day(day)
}

// Value writes a day such as 2006-01-02, or a number such as 1000.5, without marks between its digits.
func (l *Language) Value(text string) string {
	if forms.IsDecimal(text) {
		return l.minus(strings.Replace(text, ".", l.Decimal, 1))
	}
	return l.DayText(text)
}

// Answer writes an answer as people read it: the labels of options, and days.
func (l *Language) Answer(f *forms.Field, value string) string {
	if f.Validation == forms.DateOnly {
		return l.DayText(value)
	}
	return f.LabelOf(value)
}

// Month writes a month of a year.
func (l *Language) Month(t time.Time) string { return l.layout(t, l.MonthLayout) }

// Time writes a day and a time in the zone of t. It does not name the zone.
func (l *Language) Time(t time.Time) string { return l.layout(t, l.TimeLayout) }

func (l *Language) layout(t time.Time, layout string) string {
	return strings.Replace(t.Format(layout), t.Month().String()[:3], l.Months[t.Month()-1], 1)
}

// Year writes a year.
func (l *Language) Year(t time.Time) string { return t.Format("2006") }
