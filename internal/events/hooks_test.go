package events

import (
	"bytes"
	"encoding/base64"
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
	testkit.Must(t, err)
	want := []Hook{
		{Name: "crm", url: "https://crm.example/in?key=1", secret: []byte("secret-secret-secret-24!")},
		{
			Name: "All-keys_2", url: "http://[::1]:8080/", secret: bytes.Repeat([]byte{0xff}, 32), secretFile: filepath.Join(filepath.Dir(file), "sub", "secret"),
			pages: []int64{101, 102}, forms: []string{"feedback", "12"}, events: []string{"submission.created", "submission.deleted"}, submission: true, allowPrivate: true,
		},
		{Name: "third", url: "https://user:pass@example.org", secret: bytes.Repeat([]byte{0xff}, 64)},
	}
	testkit.Diff(t, "", got, want, cmp.AllowUnexported(Hook{}))
}

// A file may have no hooks yet.
func TestLoadNoHooks(t *testing.T) {
	if hooks, err := LoadHooks(writeHooks(t, "hooks: []\n")); err != nil || len(hooks) != 0 {
		t.Errorf("%v, %v", hooks, err)
	}
}

func TestLoadHooksRefuses(t *testing.T) {
	const hook = "hooks:\n- name: crm\n  url: https://leak.example/\n  secret: " + testSecret + "\n"
	words := map[string]string{
		"hook": hook, "secret": testSecret, "short": secretOf(23), "long": secretOf(65), "x65": strings.Repeat("x", 65),
		"nested": strings.Repeat("[", 20) + strings.Repeat("]", 20), "hooks101": strings.Repeat("{},", 101), "pages1001": strings.Repeat("1,", 1001),
		"NOLIST":  `write "hooks:" and a list of at most 100 hooks, and no other key`,
		"NOYAML":  `this is not one YAML document that begins with "hooks:": check indentation, colons, quotes and brackets`,
		"NEEDS":   "a hook needs name, url, and either secret or secretFile",
		"NAME":    "name: use letters, digits, - and _, at most 64 of them, and not mail",
		"URL":     "url: write an address such as https://example.org/path, with http or https",
		"SECRET":  "secret: write the base64 of 24 to 64 bytes, with or without whsec_",
		"PATH":    "secretFile: write the path of a file, or use secret: this is a secret itself",
		"PAGES":   "pages: write the numbers of pages, such as [101]",
		"FORMS":   "forms: write the ids of forms, such as [feedback]",
		"ONCE":    "write it once, with 1 to 1000 values, or leave it out",
		"NOKEY":   "there is no such key: use name, url, secret, secretFile, pages, forms, events, body and allowPrivate",
		"EVENTS":  "events: use submission.created, submission.updated, submission.deleted",
		"CONTENT": "secretFile: the file must have the base64 of 24 to 64 bytes, with or without whsec_",
	}
	expand := func(text string) string {
		return os.Expand(strings.ReplaceAll(text, `\n`, "\n"), func(word string) string { return words[word] })
	}
	for line := range strings.Lines(refusedHooks) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		t.Run(columns[0], func(t *testing.T) {
			text, isWhole := strings.CutPrefix(expand(columns[1]), "=")
			if more, isMore := strings.CutPrefix(text, "+"); isMore {
				text = hook + more
			} else if old, changed, ok := strings.Cut(text, " -> "); ok && !isWhole {
				text = strings.Replace(hook, old, changed, 1)
			}
			file := writeHooks(t, text)
			dir := filepath.Dir(file)
			testkit.WriteFile(t, filepath.Join(dir, "good"), testSecret)
			testkit.WriteFile(t, filepath.Join(dir, "bad"), "leak")
			testkit.WriteFile(t, filepath.Join(dir, "large"), strings.Repeat("leak", 1<<18+1))
			hooks, err := LoadHooks(file)
			want := file + ":" + strings.ReplaceAll(expand(columns[2]), "DIR", dir)
			if err == nil || err.Error() != want || hooks != nil {
				t.Errorf("got %v, %v\nwant %s", hooks, err, want)
			}
		})
	}
}

// refusedHooks are files: "=" and all of the file, "+" and what is added to a good one, or what
// is replaced in that; and the error.
const refusedHooks = `empty | = | 1: $NOYAML
comment only | =# no hooks\n | 1: $NOYAML
null | =~\n | 1: $NOLIST
no YAML | =hooks:\n- name: [crm\n | 3: $NOYAML
second document | +---\n$hook | 1: $NOYAML
deep nesting | =hooks:\n- $nested | 2: $NOYAML
unknown anchor | =hooks:\n- name: *leak\n | 2: $NOYAML
text | =hooks | 1: $NOLIST
list | =- name: crm\n | 1: $NOLIST
list of two | =- hooks\n- []\n | 1: $NOLIST
other key | =# hooks\nhook: []\n | 2: $NOLIST
two keys | +more: 1\n | 1: $NOLIST
no list | =hooks: {name: crm}\n | 1: $NOLIST
nothing | =hooks:\n | 1: $NOLIST
101 hooks | =hooks: [$hooks101]\n | 1: $NOLIST
not a mapping | =hooks:\n- crm\n | 2: $NEEDS
unknown key | +  urls: https://leak.example/\n | 5: urls: $NOKEY
secret as a key | +  ? whsec_leakleakleakleakleakleakleak\n  : a\n | 5: $NOKEY
key with an underscore | +  secret_file: a\n | 5: secret_file: $NOKEY
long secret as a key | +  leakleakleakleakleakleakleakleak: a\n | 5: $NOKEY
key in another case | +  Pages: [1]\n | 5: Pages: $NOKEY
merge key | =hooks:\n- &a {name: a}\n- <<: *a\n | 2: $NEEDS
alias | =hooks:\n- name: &leak crm\n  url: *leak\n | 3: $URL
alias as a form | +  forms: [&leak a, *leak]\n | 5: $FORMS
duplicate key | +  url: https://leak.example/\n | 5: url: $ONCE
duplicate name | +- name: crm\n  url: https://leak.example/\n  secret: $secret\n | 5: name: the hook on line 2 has the same one: use another
no name | name: crm -> body: ids | 2: $NEEDS
no url | url: https://leak.example/ -> body: ids | 2: $NEEDS
no secret | secret: $secret -> body: ids | 2: $NEEDS
both secrets | +  secretFile: good\n | 2: $NEEDS
empty name | crm ->  | 2: $NAME
name with a space | crm -> a b | 2: $NAME
long name | crm -> $x65 | 2: $NAME
reserved name | crm -> mail | 2: $NAME
list as a name | crm -> [crm] | 2: $NAME
other scheme | https:// -> ftp:// | 3: $URL
no scheme | https:// ->  | 3: $URL
no host | leak.example -> :80 | 3: $URL
bad port | leak.example -> leak.example:65536 | 3: $URL
bad escape | leak.example/ -> leak.example/%zz | 3: $URL
control character | https://leak.example/ -> "https://leak.example/\x0a" | 3: $URL
short secret | $secret -> $short | 4: $SECRET
long secret | $secret -> $long | 4: $SECRET
not base64 | $secret -> leak-$secret | 4: $SECRET
missing file | secret: $secret -> secretFile: missing | 4: secretFile: open DIR/missing: no such file or directory
secret for its file | secret: -> secretFile: | 4: $PATH
broken secret for its file | secret: $secret -> secretFile: whsec_abc | 4: $PATH
empty file name | secret: $secret -> secretFile: | 4: secretFile: DIR is not a regular file
bad file | secret: $secret -> secretFile: bad | 4: $CONTENT
large file | secret: $secret -> secretFile: large | 4: secretFile: DIR/large is larger than 1048576 bytes
page that is no number | +  pages: [1, leak]\n | 5: $PAGES
page 0 | +  pages:\n  - 1\n  - 0\n | 7: $PAGES
no pages | +  pages:\n | 5: $PAGES
empty pages | +  pages: []\n | 5: pages: $ONCE
many pages | +  pages: [$pages1001]\n | 5: pages: $ONCE
empty forms | +  forms: []\n | 5: forms: $ONCE
empty form | +  forms: ['']\n | 5: $FORMS
empty events | +  events: []\n | 5: events: $ONCE
unknown event | +  events: [submission.created, leak]\n | 5: $EVENTS
nested list | +  events: [[submission.created]]\n | 5: $EVENTS
unknown body | +  body: all\n | 5: body: use ids or submission
allowPrivate | +  allowPrivate: yes\n | 5: allowPrivate: use true or false
`

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
	testkit.ErrorIs(t, "a missing file", testkit.ErrorOf(LoadHooks(file+"-none")), os.ErrNotExist)
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
