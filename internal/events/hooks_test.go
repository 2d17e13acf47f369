package events

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

// testSecret is the base64 of 24 bytes.
const testSecret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtMjQh"

func secretOf(size int) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, size))
}

// writeHooks writes a hooks file and returns its path.
func writeHooks(t testing.TB, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	testkit.WriteFile(t, file, content)
	return file
}

func TestLoadHooks(t *testing.T) {
	file := writeHooks(t, `hooks:
  - name: crm
    url: https://crm.example/in?key=1
    secret: whsec_`+testSecret+`
  - name: All-keys_2
    url: http://[::1]:8080/
    secretFile: sub/secret
    pages: [101, 102]
    forms: [feedback, "12"]
    events: [submission.created, submission.deleted]
    body: submission
    allowPrivate: true
  - {name: third, url: "https://user:pass@example.org", secret: `+secretOf(64)+`, body: ids, allowPrivate: false}
`)
	testkit.WriteFile(t, filepath.Join(filepath.Dir(file), "sub", "secret"), "  "+secretOf(32)+"\n")
	got, err := LoadHooks(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Hook{
		{Name: "crm", url: "https://crm.example/in?key=1", secret: []byte("secret-secret-secret-24!")},
		{
			Name: "All-keys_2", url: "http://[::1]:8080/", secret: bytes.Repeat([]byte{0xff}, 32), secretFile: filepath.Join(filepath.Dir(file), "sub", "secret"),
			pages: []int64{101, 102}, forms: []string{"feedback", "12"}, events: []string{"submission.created", "submission.deleted"}, submission: true, allowPrivate: true,
		},
		{Name: "third", url: "https://user:pass@example.org", secret: bytes.Repeat([]byte{0xff}, 64)},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Hook{})); diff != "" {
		t.Error(diff)
	}
}

// A file may have no hooks yet.
func TestLoadNoHooks(t *testing.T) {
	if hooks, err := LoadHooks(writeHooks(t, "hooks: []\n")); err != nil || len(hooks) != 0 {
		t.Errorf("%v, %v", hooks, err)
	}
}

func TestLoadHooksRefuses(t *testing.T) {
	const (
		list    = `write "hooks:" and a list of at most 100 hooks, and no other key`
		noYAML  = `this is not one YAML document that begins with "hooks:": check indentation, colons, quotes and brackets`
		needs   = "a hook needs name, url, and either secret or secretFile"
		name    = "name: use letters, digits, - and _, at most 64 of them, and not mail"
		address = "url: write an address such as https://example.org/path, with http or https"
		secret  = "secret: write the base64 of 24 to 64 bytes, with or without whsec_"
		pages   = "pages: write the numbers of pages, such as [101]"
		items   = ": write it once, with 1 to 1000 values, or leave it out"
		unknown = "there is no such key: use name, url, secret, secretFile, pages, forms, events, body and allowPrivate"
		types   = "events: use submission.created, submission.updated, submission.deleted"
	)
	hook := "hooks:\n- name: crm\n  url: https://leak.example/\n  secret: " + testSecret + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "1: " + noYAML},
		{"comment only", "# no hooks\n", "1: " + noYAML},
		{"null", "~\n", "1: " + list},
		{"no YAML", "hooks:\n- name: [crm\n", "3: " + noYAML},
		{"second document", hook + "---\n" + hook, "1: " + noYAML},
		{"deep nesting", "hooks:\n- " + strings.Repeat("[", 20) + strings.Repeat("]", 20), "2: " + noYAML},
		{"unknown anchor", "hooks:\n- name: *leak\n", "2: " + noYAML},
		{"text", "hooks", "1: " + list},
		{"list", "- name: crm\n", "1: " + list},
		{"list of two", "- hooks\n- []\n", "1: " + list},
		{"other key", "# hooks\nhook: []\n", "2: " + list},
		{"two keys", hook + "more: 1\n", "1: " + list},
		{"no list", "hooks: {name: crm}\n", "1: " + list},
		{"nothing", "hooks:\n", "1: " + list},
		{"101 hooks", "hooks: [" + strings.Repeat("{},", 101) + "]\n", "1: " + list},
		{"not a mapping", "hooks:\n- crm\n", "2: " + needs},
		{"unknown key", hook + "  urls: https://leak.example/\n", "5: urls: " + unknown},
		{"secret as a key", hook + "  ? whsec_leak\n  : a\n", "5: " + unknown},
		{"long secret as a key", hook + "  leakleakleakleakleakleakleakleak: a\n", "5: " + unknown},
		{"key in another case", hook + "  Pages: [1]\n", "5: Pages: " + unknown},
		{"merge key", "hooks:\n- &a {name: a}\n- <<: *a\n", "2: " + needs},
		{"alias", "hooks:\n- name: &leak crm\n  url: *leak\n", "3: " + address},
		{"alias as a form", hook + "  forms: [&leak a, *leak]\n", "5: forms: write the ids of forms, such as [feedback]"},
		{"duplicate key", hook + "  url: https://leak.example/\n", "5: url" + items},
		{"duplicate name", hook + strings.TrimPrefix(hook, "hooks:\n"), "5: name: the hook on line 2 has the same one: use another"},
		{"no name", strings.Replace(hook, "name: crm", "body: ids", 1), "2: " + needs},
		{"no url", strings.Replace(hook, "url: https://leak.example/", "body: ids", 1), "2: " + needs},
		{"no secret", strings.Replace(hook, "secret: "+testSecret, "body: ids", 1), "2: " + needs},
		{"both secrets", hook + "  secretFile: good\n", "2: " + needs},
		{"empty name", strings.Replace(hook, "crm", "", 1), "2: " + name},
		{"name with a space", strings.Replace(hook, "crm", "a b", 1), "2: " + name},
		{"long name", strings.Replace(hook, "crm", strings.Repeat("x", 65), 1), "2: " + name},
		{"reserved name", strings.Replace(hook, "crm", "mail", 1), "2: " + name},
		{"list as a name", strings.Replace(hook, "crm", "[crm]", 1), "2: " + name},
		{"other scheme", strings.Replace(hook, "https://", "ftp://", 1), "3: " + address},
		{"no scheme", strings.Replace(hook, "https://", "", 1), "3: " + address},
		{"no host", strings.Replace(hook, "leak.example", ":80", 1), "3: " + address},
		{"bad port", strings.Replace(hook, "leak.example", "leak.example:65536", 1), "3: " + address},
		{"bad escape", strings.Replace(hook, "leak.example/", "leak.example/%zz", 1), "3: " + address},
		{"control character", strings.Replace(hook, "https://leak.example/", `"https://leak.example/\n"`, 1), "3: " + address},
		{"short secret", strings.Replace(hook, testSecret, secretOf(23), 1), "4: " + secret},
		{"long secret", strings.Replace(hook, testSecret, secretOf(65), 1), "4: " + secret},
		{"not base64", strings.Replace(hook, testSecret, "leak-"+testSecret, 1), "4: " + secret},
		{"missing file", strings.Replace(hook, "secret: "+testSecret, "secretFile: missing", 1), "4: secretFile: open DIR/missing: no such file or directory"},
		{"secret for its file", strings.Replace(hook, "secret:", "secretFile:", 1), "4: secretFile: write the path of a file, or use secret: this is a secret itself"},
		{"broken secret for its file", strings.Replace(hook, "secret: "+testSecret, "secretFile: whsec_abc", 1), "4: secretFile: write the path of a file, or use secret: this is a secret itself"},
		{"empty file name", strings.Replace(hook, "secret: "+testSecret, "secretFile:", 1), "4: secretFile: DIR is not a regular file"},
		{"bad file", strings.Replace(hook, "secret: "+testSecret, "secretFile: bad", 1), "4: secretFile: the file must have the base64 of 24 to 64 bytes, with or without whsec_"},
		{"large file", strings.Replace(hook, "secret: "+testSecret, "secretFile: large", 1), "4: secretFile: DIR/large is larger than 1048576 bytes"},
		{"page that is no number", hook + "  pages: [1, leak]\n", "5: " + pages},
		{"page 0", hook + "  pages:\n  - 1\n  - 0\n", "7: " + pages},
		{"no pages", hook + "  pages:\n", "5: " + pages},
		{"empty pages", hook + "  pages: []\n", "5: pages" + items},
		{"many pages", hook + "  pages: [" + strings.Repeat("1,", 1001) + "]\n", "5: pages" + items},
		{"empty forms", hook + "  forms: []\n", "5: forms" + items},
		{"empty form", hook + "  forms: ['']\n", "5: forms: write the ids of forms, such as [feedback]"},
		{"empty events", hook + "  events: []\n", "5: events" + items},
		{"unknown event", hook + "  events: [submission.created, leak]\n", "5: " + types},
		{"nested list", hook + "  events: [[submission.created]]\n", "5: " + types},
		{"unknown body", hook + "  body: all\n", "5: body: use ids or submission"},
		{"allowPrivate", hook + "  allowPrivate: yes\n", "5: allowPrivate: use true or false"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := writeHooks(t, test.text)
			dir := filepath.Dir(file)
			testkit.WriteFile(t, filepath.Join(dir, "good"), testSecret)
			testkit.WriteFile(t, filepath.Join(dir, "bad"), "leak")
			testkit.WriteFile(t, filepath.Join(dir, "large"), strings.Repeat("leak", 1<<18+1))
			hooks, err := LoadHooks(file)
			want := file + ":" + strings.ReplaceAll(test.want, "DIR", dir)
			if err == nil || err.Error() != want || hooks != nil {
				t.Errorf("got %v, %v\nwant %s", hooks, err, want)
			}
		})
	}
}

func TestLoadHooksLimits(t *testing.T) {
	one := func(i int) string {
		return "- {name: h" + strconv.Itoa(i) + ", url: 'http://a', secret: " + testSecret + ", pages: [" + strings.Repeat("1,", 1000) + "]}\n"
	}
	text := "hooks:\n"
	for i := range maxHooks {
		text += one(i)
	}
	if hooks, err := LoadHooks(writeHooks(t, text)); err != nil || len(hooks) != maxHooks {
		t.Errorf("%d hooks: %d, %v", maxHooks, len(hooks), err)
	}
	file := writeHooks(t, strings.Repeat("#", maxHooksFile+1))
	if _, err := LoadHooks(file); err == nil || err.Error() != "read the hooks file: "+file+" is larger than 1048576 bytes" {
		t.Errorf("a large file: %v", err)
	}
	if _, err := LoadHooks(file + "-none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzParseHooks: whatever the file has, an error has its line and shows no secret, and
// hooks without an error can be used.
func FuzzParseHooks(f *testing.F) {
	f.Add("hooks:\n- name: crm\n  url: https://crm.example/in\n  secret: " + testSecret + "\n  pages: [101]\n  events: [submission.created]\n")
	f.Add("hooks: [{name: a, url: 'http://a:1', secret: whsec_" + testSecret + ", body: submission, allowPrivate: true, forms: [x]}]")
	f.Add("hooks:\n- &a {name: *a, <<: *a}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		hooks, err := parseHooks([]byte(text), "f")
		if err != nil {
			line, _, ok := strings.Cut(err.Error(), ": ")
			if n, lineErr := strconv.Atoi(line); !ok || lineErr != nil || n < 1 || len(err.Error()) > 300 && !strings.Contains(err.Error(), "secretFile") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, h := range hooks {
			if !isHookName(h.Name) || len(h.secret) < 24 || !isCallable(h.url) {
				t.Errorf("%q: %+v", text, h)
			}
		}
	})
}
