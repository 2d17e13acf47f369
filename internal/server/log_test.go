package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestLogBuffer holds that lines are written together, soon, and once.
func TestLogBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		b := &LogBuffer{W: &written}
		write := func(line string) {
			if n, err := b.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		expect := func(want string) {
			t.Helper()
			b.mu.Lock()
			defer b.mu.Unlock()
			if written.String() != want {
				t.Errorf("the log has %q, want %q", &written, want)
			}
		}
		write("a\n")
		time.Sleep(logDelay / 2)
		write("b\n")
		expect("")
		time.Sleep(logDelay)
		expect("a\nb\n")
		write("c\n")
		b.Flush()
		expect("a\nb\nc\n")
		time.Sleep(2 * logDelay)
		expect("a\nb\nc\n")
	})
}

func TestEscapeLines(t *testing.T) {
	const unsafe = "\x7f\u0080\u009b\u009f\u061c\u200e\u200f\u202a\u202e\u2066\u2069"
	for in, want := range map[string]string{
		"":                      "",
		"plain\n":               "plain\n",
		"delete \x7f\n":         "delete \\u007f\n",
		"Grüße, 日本語 \u200d😀":    "Grüße, 日本語 \u200d😀", // printable, or harmless
		"a\x7fé\u009b\u202eb":   `a\u007fé\u009b\u202eb`,
		unsafe:                  `\u007f\u0080\u009b\u009f\u061c\u200e\u200f\u202a\u202e\u2066\u2069`,
		"\u00a0\u061b\u2065":    "\u00a0\u061b\u2065", // next to those that are escaped
		"\u200d\u2029\u206a":    "\u200d\u2029\u206a",
		"not \xff UTF-8 \x7f\n": "not \ufffd UTF-8 \\u007f\n",
	} {
		var buf bytes.Buffer
		n, err := LineEscaper{&buf}.Write([]byte(in))
		if buf.String() != want || n != len(in) || err != nil {
			t.Errorf("%q became %q, want %q (%d, %v)", in, buf.String(), want, n, err)
		}
	}
}

// A program that decodes a line gets what was logged.
func TestEscapedLogLinesDecodeToTheSame(t *testing.T) {
	const value = "\x7f\u009b31m\u202etxt.exe\u2069 \\ \" é"
	var buf bytes.Buffer
	slog.New(slog.NewJSONHandler(LineEscaper{&buf}, nil)).Info("x", "key", value)
	var line struct{ Key string }
	if err := json.Unmarshal(buf.Bytes(), &line); err != nil || line.Key != value {
		t.Errorf("%v: %q became %q", err, value, line.Key)
	}
	if bytes.ContainsAny(buf.Bytes(), "\x7f\u009b\u202e\u2069") {
		t.Errorf("log %q", buf.Bytes())
	}
}
