package rest

import (
	"context"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// createWith is a create with an Idempotency-Key.
func createWith(user, form, key, body string) testRequest {
	return ask(user+" POST", form+"/submission", body).with(jsonWith("Idempotency-Key", key))
}

func replayed(a answer) bool { return a.header.Get("Idempotency-Replayed") == "true" }

func (e *env) stored(t testing.TB) int {
	t.Helper()
	return strings.Count(e.dump(t), "\n")
}

// TestRepeatedCreate: the same key and answers are one submission.
func TestRepeatedCreate(t *testing.T) {
	e := newHouse(t)
	const key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
	body := nestedBody("name", "Ann", "extras", "a;b")
	first := e.expect(t, 201, createWith("alice", allPath, key, body))
	if replayed(first) {
		t.Error("the first one is called a replay")
	}
	same := func(what string, r testRequest) {
		t.Helper()
		a := e.expect(t, 201, r)
		if !replayed(a) || a.header.Get("Location") != first.header.Get("Location") {
			t.Errorf("%s: %v, want a replay of %s", what, a.header, first.header.Get("Location"))
		}
		if now := e.get(t, "alice", first.header.Get("Location")); a.body != now || a.header.Get("Etag") != e.tag(t, "alice", first.header.Get("Location")) {
			t.Errorf("%s: %s %s, want %s", what, a.header.Get("Etag"), a.body, now)
		}
	}
	same("other white space", createWith("alice", allPath, key, " "+strings.ReplaceAll(body, ":", " : ")))
	same("another order", createWith("alice", allPath, key, nestedBody("extras", "a;b", "name", "Ann")))
	e.expect(t, 200, ask("alice PUT", result(first.header.Get("Location")), `{"note":"added"}`))
	same("after a change", createWith("alice", allPath, key, body))
	testkit.Same(t, "are stored", e.stored(t), 1)
	// Package service tests what makes answers, callers and forms others.
	a := e.expect(t, 422, createWith("alice", allPath, key, nestedBody("name", "Ann", "extras", "a;b", "note", "")))
	testkit.Contains(t, "what to do", a.body, "new key")
	if replayed(e.expect(t, 201, createWith("bob", allPath, key, body))) {
		t.Error("a key of somebody else is called a replay")
	}
	if logs := e.Logs.String(); strings.Contains(logs, key) {
		t.Errorf("the log holds the key:\n%s", logs)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	e := newHouse(t)
	body := nestedBody("name", "Ann")
	for _, key := range []string{"", "two words", "ä", "tab\there", strings.Repeat("k", 256)} {
		e.expect(t, 400, createWith("alice", allPath, key, body))
		e.expect(t, 404, createWith("dave", staffPath, key, body))
	}
	r := createWith("alice", allPath, "a", body)
	r.header.Add("Idempotency-Key", "a")
	e.expect(t, 400, r)
	testkit.Same(t, "are stored", e.stored(t), 0)
	for _, key := range []string{"!", "~", `"quoted"`, strings.Repeat("k", 255)} {
		e.expect(t, 201, createWith("alice", allPath, key, body))
	}
	// Validation uses up no key.
	check := createWith("alice", allPath, "checked", body)
	check.path += "?validate=only"
	e.expect(t, 200, check)
	if replayed(e.expect(t, 201, createWith("alice", allPath, "checked", body))) {
		t.Error("validate=only used the key")
	}
}

// TestRepeatAfterThePageChanged: what was stored is returned, whatever the page
// asks for by now, but only to who may still submit.
func TestRepeatAfterThePageChanged(t *testing.T) {
	e := newHouse(t)
	body := nestedBody("text", "x")
	first := e.expect(t, 201, createWith("bob", staffPath, "key", body))
	e.Write(t, "3-staff.md", strings.Replace(staffPage, "{id: text, type", "{id: more, type: textfield, label: More, required: true}\n  - {id: text, type", 1))
	e.expect(t, 400, createWith("bob", staffPath, "another", body))
	if a := e.expect(t, 201, createWith("bob", staffPath, "key", body)); !replayed(a) || a.body != first.body {
		t.Errorf("%v %s, want %s", a.header, a.body, first.body)
	}
	e.expect(t, 422, createWith("bob", staffPath, "key", nestedBody("text", "y")))
	e.Write(t, "3-staff.md", strings.Replace(staffPage, "{id: text,", "{id: text, validate: numeric,", 1))
	parts := ask("bob POST", staffPath+"/submission", multipartOf(textPart("text", "x"))).with(multipartHeader.Clone())
	e.expect(t, 400, parts)
	parts.header.Set("Idempotency-Key", "key")
	if a := e.expect(t, 201, parts); !replayed(a) || a.body != first.body {
		t.Errorf("as multipart: %v %s, want %s", a.header, a.body, first.body)
	}
	e.Write(t, "3-staff.md", strings.Replace(staffPage, "bob, ", "", 1))
	e.expect(t, 404, createWith("bob", staffPath, "key", body))
}

// TestRepeatWhileTheFirstIsDeleted: what is gone by the time it is looked at is
// stored anew, and that is not tried for ever.
func TestRepeatWhileTheFirstIsDeleted(t *testing.T) {
	e := newHouse(t)
	body := nestedBody("name", "Ann")
	first := e.expect(t, 201, createWith("alice", allPath, "key", body)).header.Get("Location")
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if operation == "by key" {
			e.fails(nil)
			e.expect(t, 204, ask("alice DELETE", result(first)))
		}
		return nil
	})
	if a := e.expect(t, 201, createWith("alice", allPath, "key", body)); replayed(a) || a.header.Get("Location") == first {
		t.Errorf("%v", a.header)
	}
	looks := 0
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if operation == "by key" {
			looks++
			return store.ErrNotFound
		}
		return nil
	})
	if a := e.expect(t, 503, createWith("alice", allPath, "key", body)); a.header.Get("Retry-After") == "" || looks > 10 {
		t.Errorf("%v after %d looks", a.header, looks)
	}
	e.fails(store.ErrUnavailable, "by key", "tallies")
	e.expect(t, 503, createWith("alice", allPath, "key", body))
	e.expect(t, 503, ask("alice POST", oncePath+"/submission?validate=only", nestedBody("text", "x")))
	testkit.Same(t, "are stored", e.stored(t), 1)
}
