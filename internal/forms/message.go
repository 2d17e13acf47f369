package forms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is a sentence for people: English text with placeholders {0}, {1} for its arguments.
// Pages translate it; everything else prints it. Where a message says what is wrong, nil means
// that nothing is.
type Message struct {
	Text string // the key of its translations
	One  string // the text if the first argument is 1; "" if there is no such form
	Args []any  // texts, numbers, Plain, time.Time, *Message; []string is a list, []*Message are sentences in a row

	EnglishOnly bool // it has no translations
}

// Plain is a day as 2006-01-02 or a number as 12.5, as an argument of a message: languages write them differently.
type Plain string

// Say makes a message. The text is a literal: that is how tests find the messages that
// translations must have.
func Say(text string, args ...any) *Message { return &Message{Text: text, Args: args} }

// SayN makes a message that counts something. The texts are literals.
func SayN(one, many string, n int, args ...any) *Message {
	return &Message{Text: many, One: one, Args: append([]any{n}, args...)}
}

// English makes a message that has no translations, because no page shows it.
func English(format string, args ...any) *Message {
	return &Message{Text: fmt.Sprintf(format, args...), EnglishOnly: true}
}

// Join makes one message of several.
func Join(messages []*Message) *Message { return &Message{Text: "{0}", Args: []any{messages}} }

// Sentences makes one message of sentences.
func Sentences(messages []*Message) *Message {
	all := &Message{}
	for _, m := range messages {
		if all.Text != "" {
			m = &Message{Text: "{0} {1}", Args: []any{all, m}}
		}
		all = m
	}
	return all
}

// Named is a fault, such as "is required", with the name of what has it. It is a message of its own, "{0} is required",
// because languages have other orders of words. The name is the last argument.
func Named(name any, fault *Message) *Message {
	subject := "{" + strconv.Itoa(len(fault.Args)) + "} "
	named := &Message{Text: subject + fault.Text, Args: append(slices.Clip(fault.Args), name)}
	if fault.One != "" {
		named.One = subject + fault.One
	}
	return named
}

// String returns the message in English, and "" for nil.
func (m *Message) String() string {
	if m == nil {
		return ""
	}
	text := m.Text
	if m.One != "" && m.Args[0] == 1 {
		text = m.One
	}
	return Fill(text, m.Args, inEnglish)
}

// inEnglish writes an argument of a message.
func inEnglish(arg any) string {
	switch arg := arg.(type) {
	case []string:
		return strings.Join(arg, ", ")
	case []*Message:
		texts := make([]string, len(arg))
		for i, m := range arg {
			texts[i] = m.String()
		}
		return strings.Join(texts, "; ")
	case float64:
		return strconv.FormatFloat(arg, 'f', -1, 64)
	case time.Time:
		return arg.Format(time.DateTime) + " (" + arg.Location().String() + ")"
	default:
		return fmt.Sprint(arg)
	}
}

// Fill replaces the placeholders of a text by its arguments, as write writes them. It does not
// look into the arguments. Without arguments the text stays as it is.
func Fill(text string, args []any, write func(arg any) string) string {
	if len(args) == 0 {
		return text
	}
	filled := ""
	for {
		before, placeholder, found := strings.Cut(text, "{")
		if filled += before; !found {
			return filled
		}
		if i := int(placeholder[0] - '0'); i < len(args) {
			filled += write(args[i])
		}
		text = placeholder[len("0}"):]
	}
}

// MarshalText is for JSON.
func (m *Message) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
