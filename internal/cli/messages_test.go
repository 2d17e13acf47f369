package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/rest"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/web"
)

// anybody takes every password.
type anybody struct{}

func (anybody) Authenticate(_ context.Context, user, _, _ string) (auth.Identity, error) {
	return auth.NewIdentity(user), nil
}

func (anybody) Reverify(_ context.Context, user, _ string) (auth.Identity, error) {
	return auth.NewIdentity(user), nil
}
func (anybody) Refresh(id auth.Identity) (auth.Identity, error) { return id, nil }

const allKinds = "```yaml form" + `
form: all
fields:
  - {id: text, type: textfield, label: Text, required: true}
  - {id: long, type: textbox, label: Long}
  - {id: number, type: textfield, label: Number, validate: numeric}
  - {id: letters, type: textfield, label: Letters, validate: alpha, required: true}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: day, type: date, label: Day}
  - {id: pick, type: dropdown, label: Pick, options: [a, b], required: true}
  - {id: radio, type: radio, label: Radio, options: [x, y]}
  - {id: boxes, type: checkbox, label: Boxes, options: [p, q], required: true}
  - {id: state, type: status, label: State, options: [open, closed]}
  - {id: extra, type: textfield, label: Extra, required: true, validate: numeric, showIf: {field: pick, equals: a}}
  - section: more
    showIf: {any: [{field: number, greater-than: 5}, {field: text, contains: no}]}
    fields:
      - {id: inner, type: textfield, label: Inner, validate: email}
      - {id: last, type: radio, label: Last, options: [1, 2], required: true}
` + "```\n"

// TestOneSetOfMessages sends the same bad answers to the API and to the pages,
// and compares what each says is wrong.
func TestOneSetOfMessages(t *testing.T) {
	server := serveBoth(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	resp, err := browser.PostForm(server.URL+"/login", url.Values{"username": {"alice"}, "password": {"x"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	page := get(t, browser, server.URL+"/page/1/form/all")
	marker := attributeOf(page, "_for")

	const inputs = 500
	random := rand.New(rand.NewPCG(1, 2)) // the same inputs each time
	bad := 0
	for bad < inputs {
		values := randomAnswers(random)
		want := fromAPI(t, server.URL, values)
		if len(want) == 0 {
			continue // nothing is wrong with it
		}
		bad++
		got := fromPage(t, browser, server.URL, values, marker)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("answers %v:\npages say %q\nAPI says %q", values, got, want)
		}
	}
}

func serveBoth(t *testing.T) *httptest.Server {
	t.Helper()
	dir, engine, key := t.TempDir(), enginetest.SQLite.Open(t), []byte("a key of thirty-two bytes, or so")
	if err := os.WriteFile(filepath.Join(dir, "1-all.md"), []byte(allKinds), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	source, err := pages.OpenDirectory(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	backend := request.NewBackend(request.Options{
		Service: service.New(service.Options{
			Pages: source, Store: engine, Files: engine, AnonymousKey: key, Now: time.Now, MaxSubmission: request.DefaultMaxBody,
		}),
		Auth: anybody{}, Logger: log,
	})
	sessions, err := session.New(session.Options{Store: engine, Users: anybody{}, OwnerKey: key})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(routes(rest.New(backend), web.New(web.Options{Backend: backend, Sessions: sessions, Key: key})))
	t.Cleanup(server.Close)
	return server
}

// randomAnswers are values for some fields, most of them odd.
func randomAnswers(random *rand.Rand) map[string][]string {
	texts := []string{
		"", " ", "\t\n", "no", "12", "-3.5", "1e3", "٣", "é", "a b", "a;b", "x@y", "x@", "@y", "x@y@z", "2026-01-31", "2026-02-30", "31.1.2026",
		"a", "b", "x", "p", "q", "open", "1", "2", "9", "<b>", "\"quoted\"", "\u202eabc", strings.Repeat("long", 100), "日本", "0000-01-01", "line\nline",
	}
	values := map[string][]string{}
	for _, id := range []string{"text", "long", "number", "letters", "mail", "day", "pick", "radio", "boxes", "state", "extra", "inner", "last"} {
		switch n := random.IntN(10); {
		case n < 2: // not sent
		case n < 3:
			values[id] = []string{texts[random.IntN(len(texts))], texts[random.IntN(len(texts))]}
		default:
			values[id] = []string{texts[random.IntN(len(texts))]}
		}
	}
	return values
}

// fromAPI returns what the API says is wrong, in the words of the pages, sorted.
func fromAPI(t *testing.T, base string, values map[string][]string) []string {
	t.Helper()
	fields := map[string]any{}
	for id, list := range values {
		entry := map[string]any{"fieldId": id, "value": list[0]}
		if len(list) > 1 {
			entry["value"] = list
		}
		fields[id] = entry
	}
	body, err := json.Marshal(map[string]any{"fields": fields})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+rest.Prefix+"/page/1/form/all/submission?validate=only", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("alice", "x")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
