package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// brokenWiki answers as MediaWiki does, over TLS, until it is told to do something else.
// Everybody may read page 1, and Ann may edit it. Page 2 is hers alone. Pages 1000 to
// 9999 are long. What must not be told contains "secret".
type brokenWiki struct {
	address string
	server  *http.Server
	cert    certificate

	fault     atomic.Pointer[fault]
	calls     atomic.Int64 // that were answered as they should be
	faults    atomic.Int64 // that were not
	elsewhere atomic.Int64 // calls that followed a redirect
}

// fault is what the wiki does instead of an answer.
type fault struct {
	name  string
	serve func(w http.ResponseWriter, r *http.Request, f *fault) // nil if there is no connection
	over  chan struct{}
	turn  atomic.Int64
	ready bool // the wiki counts as ready all the same
}

const (
	publicPage = `<pre class="form">
form: note
fields:
  - {id: text, type: textbox, label: Public, required: true}
</pre>
<pre class="form">
form: ballot
anonymous: true
fields:
  - {id: text, type: textbox, label: Ballot, required: true}
</pre>`
	privateMark = "Layoffs"
	privatePage = `<pre class="form">
form: note
fields:
  - {id: text, type: textbox, label: ` + privateMark + `, required: true}
</pre>`
)

func newBrokenWiki(t *testing.T) *brokenWiki {
	t.Helper()
	w := &brokenWiki{address: fmt.Sprint("127.0.0.1:", freePort(t)), cert: newCertificate(t, t.TempDir())}
	w.start(t)
	t.Cleanup(func() {
		w.heal()
		_ = w.server.Close()
	})
	return w
}

func (b *brokenWiki) start(t *testing.T) {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(b.cert.cert, b.cert.key)
	must(t, err)
	var listener net.Listener
	testkit.Eventually(t, "the port is free", func() bool {
		listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", b.address)
		return err == nil
	})
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
	go func() { _ = b.server.ServeTLS(listener, "", "") }()
}

// breaks has the wiki fail from now on. Running calls are cut off.
func (b *brokenWiki) breaks(f *fault) {
	f.over = make(chan struct{})
	b.faults.Store(0)
	b.fault.Store(f)
	if f.serve == nil {
		_ = b.server.Close()
	}
}

func (b *brokenWiki) heal() {
	if f := b.fault.Swap(nil); f != nil {
		close(f.over)
	}
}

func (b *brokenWiki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api.php" || r.URL.Query().Has("again") {
		b.elsewhere.Add(1)
	}
	f := b.fault.Load()
	if f == nil {
		b.calls.Add(1)
		answerAs(w, r, "")
		return
	}
	b.faults.Add(1)
	f.serve(w, r, f)
}

// answerAs answers a call. If it is given a user, the answer is the one for them.
func answerAs(w http.ResponseWriter, r *http.Request, instead string) {
	_ = r.ParseForm()
	who := userOfCookie(r)
	if instead != "" {
		who = instead
	}
	query := map[string]any{}
	answer := map[string]any{"batchcomplete": true, "query": query}
	var fail string
	switch action := r.Form.Get("action"); {
	case action == "login" || action == "clientlogin":
		owner, _, _ := strings.Cut(r.Form.Get("lgname")+r.Form.Get("username"), "@")
		if instead != "" {
			owner = instead
		}
		for _, c := range cookiesOf(owner) {
			http.SetCookie(w, c)
		}
		answer["login"] = map[string]any{"result": "Success", "lgusername": owner}
		answer["clientlogin"] = map[string]any{"status": "PASS", "username": owner}
	case strings.HasPrefix(r.Form.Get("meta"), "tokens"):
		http.SetCookie(w, &http.Cookie{Name: "w_session", Value: "before"})
		query["tokens"] = map[string]any{"logintoken": "secret+\\"}
		query["authmanagerinfo"] = map[string]any{"requests": []any{map[string]any{"id": "password", "fields": map[string]any{"password": 1}}}}
	case instead == "" && r.Form.Has("assertuser") && r.Form.Get("assertuser") != who, r.Form.Has("assert") && who == "":
		fail = "assertuserfailed"
	case r.Form.Get("prop") == "info":
		query["userinfo"] = userInfo(who)
		query["pages"] = infoOf(r.Form.Get("pageids"), who)
	case r.Form.Get("prop") == "revisions" && r.Form.Get("pageids") == "2" && who != "Ann":
		fail = "accessdenied"
	case r.Form.Get("prop") == "revisions":
		query["pages"] = []any{textOf(r.Form.Get("pageids"))}
	case r.Form.Get("meta") == "userinfo":
		query["userinfo"] = userInfo(who)
	}
	if fail != "" {
		answer = map[string]any{"errors": []any{map[string]any{"code": fail}}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func userInfo(who string) map[string]any { return map[string]any{"id": userID(who), "name": who} }

// userID is another one for each user of a test.
func userID(who string) int {
	id := 1
	for _, c := range who {
		id = id*31%1_000_003 + int(c)
	}
	return id
}

func cookiesOf(user string) []*http.Cookie {
	return []*http.Cookie{{Name: "w_session", Value: "secret-" + user}, {Name: "wUserID", Value: fmt.Sprint(userID(user))}}
}

func userOfCookie(r *http.Request) string {
	c, err := r.Cookie("w_session")
	if err != nil {
		return ""
	}
	user, known := strings.CutPrefix(c.Value, "secret-")
	if !known {
		return ""
	}
	return user
}

// isLong reports whether a page is one of the long ones.
func isLong(id string) bool { return len(id) == 4 }

func infoOf(ids, who string) (pages []any) {
	for id := range strings.SplitSeq(ids, "|") {
		if id == "1" || id == "2" || isLong(id) {
			may := who == "Ann"
			pages = append(pages, map[string]any{
				"pageid": json.Number(id), "title": "Page " + id, "contentmodel": "wikitext", "lastrevid": 1,
				"actions": map[string]bool{"read": id != "2" || may, "edit": may},
			})
		}
	}
	return pages
}

func textOf(id string) map[string]any {
	text := map[string]string{"1": publicPage, "2": privatePage}[id]
	if isLong(id) {
		text = publicPage + strings.Repeat("\n* a", 45<<10/4)
	}
	main := map[string]any{"contentmodel": "wikitext", "content": text}
	return map[string]any{"pageid": json.Number(id), "revisions": []any{map[string]any{"revid": 1, "slots": map[string]any{"main": main}}}}
}

func wikiFaults() []*fault {
	says := func(status int, text string) func(http.ResponseWriter, *http.Request, *fault) {
		return func(w http.ResponseWriter, _ *http.Request, _ *fault) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	sendsTo := func(location string) func(http.ResponseWriter, *http.Request, *fault) {
		return func(w http.ResponseWriter, r *http.Request, _ *fault) {
			http.Redirect(w, r, location, http.StatusFound)
		}
	}
	return []*fault{
		{name: "stopped"},
		{name: "hangs or drips", serve: hangOrDrip},
		{name: "fails", serve: says(http.StatusInternalServerError, "oops")},
		{name: "is busy for a year", serve: func(w http.ResponseWriter, _ *http.Request, _ *fault) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		{name: "answers HTML", serve: says(http.StatusOK, "<html>Fatal exception of type secret</html>")},
		{name: "answers by half", serve: func(w http.ResponseWriter, r *http.Request, _ *fault) {
			half := httptest.NewRecorder()
			answerAs(half, r, "")
			_, _ = w.Write(half.Body.Bytes()[:half.Body.Len()/2])
		}},
		{name: "cuts answers off", serve: func(w http.ResponseWriter, r *http.Request, _ *fault) {
			w.Header().Set("Content-Length", "100000")
			answerAs(w, r, "")
		}},
		{name: "answers for another user", ready: true, serve: func(w http.ResponseWriter, r *http.Request, _ *fault) { answerAs(w, r, "Ann") }},
		{name: "sends elsewhere", serve: sendsTo("/elsewhere")},
		{name: "sends in a circle", serve: sendsTo("/api.php?again")},
		{name: "answers 100 MB", serve: answerTooMuch},
	}
}

// hangOrDrip drips every other call. None is answered within the fault.
func hangOrDrip(w http.ResponseWriter, r *http.Request, f *fault) {
	drips := f.turn.Add(1)%2 == 0
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if drips {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
			}
		case <-f.over:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
	}
}

func answerTooMuch(w http.ResponseWriter, _ *http.Request, _ *fault) {
	part := bytes.Repeat([]byte(" "), 1<<20)
	for range 100 {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// cookieHeaderOf is what a browser sends that is signed in to the wiki.
func cookieHeaderOf(user string) string {
	var pairs []string
	for _, c := range cookiesOf(user) {
		pairs = append(pairs, c.Name+"="+url.QueryEscape(c.Value))
	}
	return strings.Join(pairs, "; ")
}
