package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/rest"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
	"github.com/formulary/formulary/internal/web"
)

const allKinds = "```yaml form" + `
form: all
fields:
  - {id: text, type: textfield, label: Text, required: true}
  - {id: long, type: textbox, label: Long}
  - {id: number, type: textfield, label: Number, validate: numeric, max: 10}
  - {id: letters, type: textfield, label: Letters, validate: alpha, required: true, maxLength: 1}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: day, type: date, label: Day, min: 2026-02-01}
  - {id: pick, type: dropdown, label: Pick, options: [a, b], required: true}
  - {id: radio, type: radio, label: Radio, options: [x, y]}
  - {id: boxes, type: checkbox, label: Boxes, options: [p, q], required: true}
  - {id: state, type: status, label: State, options: [open, closed]}
  - {id: extra, type: textfield, label: Extra, required: true, validate: numeric, min: {field: number}, showIf: {field: pick, equals: a}}
  - section: more
    showIf: {any: [{field: number, greater-than: 5}, {field: text, contains: no}]}
    fields:
      - {id: inner, type: textfield, label: Inner, validate: email}
      - {id: last, type: radio, label: Last, options: [1, 2], required: true}
` + "```\n"

// oddTexts are answers, each of which is wrong for most fields.
var oddTexts = []string{
	"", " ", "\t\n", "no", "12", "-3.5", "1e3", "٣", "é", "a b", "a;b", "x@y", "x@", "@y", "x@y@z", "2026-01-31", "2026-02-30", "31.1.2026",
	"a", "b", "x", "p", "q", "open", "1", "2", "9", "<b>", "\"quoted\"", "\u202eabc", strings.Repeat("long", 100), "日本", "0000-01-01", "line\nline",
}

// TestOneSetOfMessages sends the same bad answers to the API and to the pages,
// and compares what each says is wrong. Every field gets every text.
func TestOneSetOfMessages(t *testing.T) {
	server := serveBoth(t)
	jar, err := cookiejar.New(nil)
	testkit.Must(t, err)
	browser := &http.Client{Jar: jar}
	resp, err := browser.PostForm(server.URL+"/login", url.Values{"username": {"alice"}, "password": {"alice-secret"}})
	testkit.Must(t, err)
	_ = resp.Body.Close()
	page := get(t, browser, server.URL+"/page/1/form/all")
	marker := attributeOf(page, "_for")
	for lap := range 3 {
		for round := range oddTexts {
			values := oddAnswers(lap, round)
			want := fromAPI(t, server.URL, values)
			if len(want) == 0 {
				t.Fatalf("nothing is wrong with %v", values)
			}
			got := fromPage(t, browser, server.URL, values, marker)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("answers %v:\npages say %q\nAPI says %q", values, got, want)
			}
		}
	}
}

func serveBoth(t *testing.T) *httptest.Server {
	t.Helper()
	site := testsite.On(t, enginetest.SQLite, map[string]string{"1-all.md": allKinds})
	backend := request.NewBackend(request.Options{
		Service: service.New(service.Options{
			Pages: site.Pages, Store: site.Store, Files: site.Store, AnonymousKey: testsite.Key, Now: time.Now, MaxSubmission: request.DefaultMaxBody,
		}),
		Auth: site.Users, Logger: site.Logger,
	})
	sessions := session.New(session.Options{Store: site.Engine, Users: site.Users, OwnerKey: testsite.Key})
	server := httptest.NewServer(routes("", rest.New(backend), web.New(web.Options{Backend: backend, Sessions: sessions, Key: testsite.Key})))
	t.Cleanup(server.Close)
	return server
}

// oddAnswers gives each field another text in each round. Some fields are not sent,
// and some get two texts. From the second lap on, all fields show.
func oddAnswers(lap, round int) map[string][]string {
	values := map[string][]string{}
	for i, id := range []string{"text", "long", "number", "letters", "mail", "day", "pick", "radio", "boxes", "state", "extra", "inner", "last"} {
		next := func(n int) string { return oddTexts[(round+i*(5+2*lap)+n)%len(oddTexts)] }
		switch (lap + round + i) % 7 {
		case 0: // not sent
		case 1:
			values[id] = []string{next(0), next(1)}
		default:
			values[id] = []string{next(0)}
		}
	}
	if lap > 0 {
		values["pick"], values["number"] = []string{"a"}, []string{"9"}
	}
	return values
}

// oneLine are the fields that are typed into a single line.
var oneLine = []string{"text", "number", "letters", "mail", "day", "extra", "inner"}

// fromAPI returns what the API says is wrong, in the words of the pages, sorted.
func fromAPI(t *testing.T, base string, values map[string][]string) []string {
	t.Helper()
	fields := map[string]any{}
	for id, list := range values {
		entry := map[string]any{"fieldId": id, "value": list[0]}
		if slices.Contains(oneLine, id) {
			entry["value"] = strings.TrimSpace(list[0]) // as pages do
		}
		if len(list) > 1 {
			entry["value"] = list
		}
		fields[id] = entry
	}
	body, err := json.Marshal(map[string]any{"fields": fields})
	testkit.Must(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+rest.Prefix+"/page/1/form/all/submission?validate=only", bytes.NewReader(body))
	testkit.Must(t, err)
	r.SetBasicAuth("alice", "alice-secret")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	testkit.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var result struct {
		FieldErrors map[string]string
		Errors      []string
	}
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil || resp.StatusCode >= 500 {
		t.Fatalf("API: %d %v", resp.StatusCode, err)
	}
	messages := result.Errors
	for id, text := range result.FieldErrors {
		text = strings.Replace(text, "2026-02-01", "1 Feb 2026", 1) // pages write days in the reader's language
		messages = append(messages, "“"+strings.ToUpper(id[:1])+id[1:]+"” "+text)
	}
	slices.Sort(messages)
	return messages
}

// fromPage returns the lines of the error summary.
func fromPage(t *testing.T, browser *http.Client, base string, values map[string][]string, marker string) []string {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("_for", marker)
	for id, list := range values {
		for _, value := range list {
			_ = w.WriteField(id, strings.ReplaceAll(value, "\n", "\r\n")) // as browsers do
		}
	}
	_ = w.Close()
	resp, err := browser.Post(base+"/page/1/form/all", w.FormDataContentType(), &body)
	testkit.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	root, err := html.Parse(resp.Body)
	if err != nil || resp.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("answers %v: %d %v", values, resp.StatusCode, err)
	}
	var lines []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "li" || !slices.ContainsFunc(n.Parent.Parent.Attr, func(a html.Attribute) bool { return a.Key == "data-error-summary" }) {
			continue
		}
		var text strings.Builder
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				text.WriteString(d.Data)
			}
		}
		lines = append(lines, text.String())
	}
	return lines
}

func get(t *testing.T, browser *http.Client, address string) *html.Node {
	t.Helper()
	resp, err := browser.Get(address)
	testkit.Must(t, err)
	defer func() { _, _ = io.Copy(io.Discard, resp.Body); _ = resp.Body.Close() }()
	root, err := html.Parse(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", address, resp.StatusCode, err)
	}
	return root
}

// attributeOf is the value of the control with a name.
func attributeOf(root *html.Node, name string) string {
	for n := range root.Descendants() {
		values := map[string]string{}
		for _, a := range n.Attr {
			values[a.Key] = a.Val
		}
		if values["name"] == name {
			return values["value"]
		}
	}
	return fmt.Sprintf("no control %s", name)
}
