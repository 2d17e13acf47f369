// Command fill-examples sends made-up answers to the example forms of a running
// server, so that results and charts have something to show. It takes the address
// of the server and the folder of the pages. It makes answers from the definitions
// that the API returns, and the same ones each time, but for dates.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// total is about how many submissions there are in the end.
const total = 240

// user is one of the users of the examples.
type user struct{ name, password string }

// users are in the order in which they send. The first one is whom README asks to
// sign in as, and keeps the forms that take one submission of each.
var users = []user{{"alice", "wonderland"}, {"bob", "scaffold"}, {"carol", "christmas"}}

type field struct {
	FieldID, Type, ValidationType string
	Rank                          int
	Validations                   []struct{ Value string } // options
}

type form struct {
	FormID        string
	PageID        int64
	OneSubmission bool
	Fields        map[string]field
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "fill-examples takes the address of a server, and the folder of its pages")
		os.Exit(2)
	}
	f := filler{server: os.Args[1], client: &http.Client{Timeout: 10 * time.Second}}
	f.random = rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same answers each time
	sent, forms, err := f.fill(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fill-examples:", err)
		os.Exit(1)
	}
	fmt.Printf("%d made-up answers were sent to the %d example forms.\n", sent, forms)
}

type filler struct {
	server string
	client *http.Client
	random *rand.Rand
}

// fill sends to all forms. Each that takes many submissions gets the same share.
func (f *filler) fill(pages string) (sent, count int, err error) {
	if err := f.await(); err != nil {
		return 0, 0, err
	}
	forms, err := f.forms(pages)
	if err != nil {
		return 0, 0, err
	}
	many := 0
	for _, form := range forms {
		if !form.OneSubmission {
			many++
		}
	}
	for _, form := range forms {
		senders := users[1:]
		if !form.OneSubmission {
			senders = slices.Repeat(users, total/many/len(users)) // docs/api.md goes on with the first
		}
		for _, who := range senders {
			if err := f.submit(form, who); err != nil {
				return sent, len(forms), fmt.Errorf("form %s as %s: %w", form.FormID, who.name, err)
			}
			sent++
		}
	}
	return sent, len(forms), nil
}

// await returns when the server serves.
func (f *filler) await() error {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, _, err := f.call(user{}, http.MethodGet, "/healthz", nil)
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("the server at %s does not serve", f.server)
		}
	}
}

// forms are those of all pages, in the order of their files.
func (f *filler) forms(pages string) ([]form, error) {
	files, err := filepath.Glob(filepath.Join(pages, "[0-9]*"))
	if err != nil {
		return nil, err
	}
	var all []form
	for _, file := range files {
		id, _, _ := strings.Cut(filepath.Base(file), "-")
		status, body, err := f.call(users[0], http.MethodGet, "/rest/forms/1.0/page/"+id+"/form", nil)
		if err != nil || status != http.StatusOK {
			return nil, errors.Join(err, fmt.Errorf("page %s: status %d: %s", id, status, body))
		}
		var forms []form
		if err := json.Unmarshal(body, &forms); err != nil {
			return nil, fmt.Errorf("page %s: %w", id, err)
		}
		all = append(all, forms...)
	}
	return all, nil
}

// submit sends answers to a form. What is refused is left out the second time: a
// definition does not tell all rules. Then an editor answers what is theirs.
func (f *filler) submit(to form, who user) error {
	answers, state := f.answers(to)
	path := fmt.Sprintf("/rest/forms/1.0/page/%d/form/%s/submission", to.PageID, to.FormID)
	status, body, err := f.call(who, http.MethodPost, path, nested(answers))
	if err == nil && status == http.StatusBadRequest {
		var refused struct{ FieldErrors map[string]string }
		if err := json.Unmarshal(body, &refused); err != nil {
			return err
		}
		maps.DeleteFunc(answers, func(id, _ string) bool { return refused.FieldErrors[id] != "" })
		status, body, err = f.call(who, http.MethodPost, path, nested(answers))
	}
	if err != nil || status != http.StatusCreated {
		return errors.Join(err, fmt.Errorf("status %d: %s", status, body))
	}
	if len(state) == 0 || f.random.IntN(4) == 0 { // some are still to be looked at
		return nil
	}
	var stored struct{ ID int64 }
	if err := json.Unmarshal(body, &stored); err != nil {
		return err
	}
	editor := users[len(users)-1] // of all examples
	if _, _, err = f.call(editor, http.MethodPost, fmt.Sprintf("%s/%d", path, stored.ID), nested(state)); err != nil {
		return err
	}
	return nil
}

// answers are what is sent to a form, and what an editor says to it. Those that a
// condition hides are dropped by the server.
func (f *filler) answers(to form) (answers, state map[string]string) {
	answers, state = map[string]string{}, map[string]string{}
	day := time.Now().AddDate(0, 0, 1+f.random.IntN(90))
	byRank := slices.SortedFunc(maps.Values(to.Fields), func(a, b field) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, q := range byRank {
		switch {
		case q.Type == "file":
		case q.Type == "status":
			state[q.FieldID] = f.option(q)
		case q.Type == "checkbox":
			answers[q.FieldID] = f.options(q)
		case len(q.Validations) > 0:
			answers[q.FieldID] = f.option(q)
		case q.Type == "date" || q.ValidationType == "date":
			answers[q.FieldID] = day.Format(time.DateOnly)
			day = day.AddDate(0, 0, f.random.IntN(12)) // a second date is the end of something
		case q.ValidationType == "numeric":
			answers[q.FieldID] = fmt.Sprint(1 + min(f.random.IntN(8), f.random.IntN(8)))
		default:
			answers[q.FieldID] = f.text(q)
		}
	}
	return answers, state
}

// option prefers the later ones, so that bars differ in length.
func (f *filler) option(q field) string {
	n := len(q.Validations)
	return q.Validations[max(f.random.IntN(n), f.random.IntN(n))].Value
}

// options are at least one.
func (f *filler) options(q field) string {
	chosen := []string{}
	for _, v := range q.Validations {
		if f.random.IntN(2) == 0 {
			chosen = append(chosen, v.Value)
		}
	}
	if len(chosen) == 0 {
		return f.option(q)
	}
	return strings.Join(chosen, ";")
}

func (f *filler) text(q field) string {
	list, known := texts[q.FieldID]
	switch {
	case known:
	case q.ValidationType == "email":
		list = texts["mail"]
	default:
		list = texts["comment"]
	}
	return list[f.random.IntN(len(list))]
}

// nested is a body of the API.
func nested(answers map[string]string) []byte {
	type entry struct {
		FieldID string `json:"fieldId"`
		Value   string `json:"value"`
	}
	fields := map[string]entry{}
	for id, value := range answers {
		fields[id] = entry{id, value}
	}
	body, _ := json.Marshal(map[string]any{"fields": fields}) // texts can always be written
	return body
}

func (f *filler) call(who user, method, path string, body []byte) (status int, answer []byte, err error) {
	//nolint:gosec // the address is an argument of this program
	r, err := http.NewRequestWithContext(context.Background(), method, f.server+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if who.name != "" {
		r.SetBasicAuth(who.name, who.password)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(r) //nolint:gosec // as above
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	return resp.StatusCode, answer, errors.Join(err, resp.Body.Close())
}
