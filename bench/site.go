package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// What is served: one page with one form of six fields, one that takes files,
// a user, and visitors who open pages.
const (
	pageID   = 1
	formID   = "survey"
	user     = "ann"
	password = "correct horse battery"

	pageText = "# Benchmark\n\n```yaml form\n" + `form: survey
fields:
  - {id: comment, type: textbox, label: Comment, required: true}
  - {id: rating, type: dropdown, label: Rating, options: [1, 2, 3, 4, 5]}
  - {id: mail, type: textfield, label: E-mail, validate: email}
  - {id: day, type: date, label: Day}
  - {id: topics, type: checkbox, label: Topics, options: [food, rooms, talks, travel]}
  - {id: hours, type: textfield, label: Hours, validate: numeric}
` + "```\n"

	paperText = "# Files\n\n```yaml form\nform: paper\nfields:\n  - {id: doc, type: file, label: Document}\n```\n"
)

const (
	formPath       = "/rest/forms/1.0/page/1/form/survey"
	submissionPath = formPath + "/submission"
	resultPath     = formPath + "/result"
)

// digits stand in every comment; each request overwrites them with a number
// that was not sent before, because SQLite skips a write that changes nothing.
const digits = "0000000000000000"

// answers are what every submission holds.
var answers = []struct{ id, value string }{
	{"comment", "Number " + digits + ": the talks were good, the rooms too small, and lunch came late."},
	{"rating", "4"},
	{"mail", "ann.example@formulary.example"},
	{"day", "2026-01-31"},
	{"topics", "food;rooms;talks"},
	{"hours", "37.5"},
}

// site is what a server is started on.
type site struct{ pages, users string }

// makeSite writes the page and, with the program's own command, the user.
func makeSite(ctx context.Context, dir, binary string) (site, error) {
	s := site{pages: filepath.Join(dir, "pages"), users: filepath.Join(dir, "users.htpasswd")}
	if err := os.Mkdir(s.pages, 0o700); err != nil {
		return s, err
	}
	for name, text := range map[string]string{strconv.Itoa(pageID) + "-benchmark.md": pageText, "2-files.md": paperText} {
		if err := os.WriteFile(filepath.Join(s.pages, name), []byte(text), 0o600); err != nil {
			return s, err
		}
	}
	passwd := exec.CommandContext(ctx, binary, "passwd", s.users, user) //nolint:gosec // the binary just built
	passwd.Stdin = strings.NewReader(password + "\n")
	if out, err := passwd.CombinedOutput(); err != nil {
		return s, fmt.Errorf("make user: %w\n%s", err, out)
	}
	hash, err := os.ReadFile(s.users)
	if err == nil && !strings.Contains(string(hash), "$10$") {
		err = fmt.Errorf("the user's bcrypt hash is not of cost 10: %s", hash)
	}
	if err != nil {
		return s, err
	}
	return s, addVisitors(s.users, hash)
}

// visitors are enough for sessionCount sessions, of which one user can have 100.
const visitors = 125

func visitor(i int) string { return fmt.Sprintf("visitor-%03d", i%visitors) }

// addVisitors adds users whose passwords are hashed at the least cost: how long
// they take to sign in is not measured.
func addVisitors(file string, users []byte) error {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	for i := range visitors {
		users = fmt.Appendf(users, "%s:%s\n", visitor(i), hash)
	}
	return os.WriteFile(file, users, 0o600)
}

func authorization() string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
}

// requestBody is the body of a create or an update.
func requestBody() string {
	type entry struct {
		FieldID string `json:"fieldId"`
		Value   string `json:"value"`
	}
	fields := map[string]entry{}
	for _, a := range answers {
		fields[a.id] = entry{a.id, a.value}
	}
	body, err := json.Marshal(map[string]any{"fields": fields})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(body)
}

// appendFields appends the answers the way the store keeps them, with entry
// ids from firstEntry on. It must write what the server writes: the flat list,
// which reads them back, fails otherwise.
func appendFields(dst []byte, number, firstEntry int64) []byte {
	for i, a := range answers {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		dst = append(dst, separator, '"')
		dst = append(dst, a.id...)
		dst = append(dst, `":{"id":`...)
		dst = strconv.AppendInt(dst, firstEntry+int64(i), 10)
		dst = append(dst, `,"fieldId":"`...)
		dst = append(dst, a.id...)
		dst = append(dst, `","value":"`...)
		start := len(dst)
		dst = append(dst, a.value...)
		if at := strings.Index(a.value, digits); at >= 0 {
			putDigits(dst[start+at:start+at+len(digits)], uint64(number)) //nolint:gosec // counted from 1
		}
		dst = append(dst, `"}`...)
	}
	return append(dst, '}')
}

// putDigits writes n in decimal over all of dst.
func putDigits(dst []byte, n uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}
