package e2e

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// pat is a user whose name is in no file by chance. All their answers have the word unspoken.
const pat = "pat-of-nowhere"

// addUser adds an account. The password is the same for all.
func (s site) addUser(t *testing.T, name string) {
	t.Helper()
	users, err := os.ReadFile(s.users)
	must(t, err)
	_, others, _ := strings.Cut(string(users), "ann:")
	testkit.WriteFile(t, s.users, string(users)+name+":"+strings.SplitAfter(others, "\n")[0])
}

// person returns the arguments of the command on the site's store.
func (s site) person(name string, args ...string) []string {
	args = slices.Concat([]string{"person", name}, s.store(), args)
	if s.key != "" {
		args = append(args, "--anonymous-key", s.key)
	}
	return args
}

// as makes a request as somebody, and returns the submission of the answer.
func (p *process) as(t *testing.T, user string, status int, method, path, body string) (sub submission) {
	t.Helper()
	r, err := p.callAs(t.Context(), user, "secret", method, path, body)
	if err != nil || r.status != status {
		t.Fatalf("%s %s as %s: %v, status %d, want %d: %s\n%s", method, path, user, err, r.status, status, r.body, p.output())
	}
	_ = json.Unmarshal([]byte(r.body), &sub) // where there is one
	return sub
}

// uploadAs sends a paper of somebody.
func (p *process) uploadAs(t *testing.T, user, text string) (sub submission) {
	t.Helper()
	req, err := uploadRequest(t.Context(), p.url, text)
	must(t, err)
	req.SetBasicAuth(user, "secret")
	r, err := do(client, req)
	if err != nil || r.status != 201 {
		t.Fatalf("upload: %v, status %d: %s", err, r.status, r.body)
	}
	must(t, json.Unmarshal([]byte(r.body), &sub))
	return sub
}

// exitStatus runs a command, and returns its exit status and what it printed.
func exitStatus(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out), told.String()
}

// All of a person goes, beside a server, which sees it at once and tells it; of others nothing but the name.
func TestPersonErased(t *testing.T) { engines(t, testPersonErased) }

func testPersonErased(t *testing.T, s site) {
	s.addUser(t, pat)
	r := newReceiver(t, "crm")
	flags := withHooks(t, r.hook("/", "events: ["+store.SubmissionDeleted+"]"))
	p := start(t, s, flags...)
	noted, anns := p.as(t, pat, 201, "POST", "/note/submission", note("unspoken 1")), create(t, p, "note", note("by ann"))
	for i := range 3 {
		p.as(t, pat, 200, "PUT", fmt.Sprint("/note/result/", noted.ID), fmt.Sprintf(`{"text":"unspoken, version %d"}`, i))
	}
	p.as(t, pat, 200, "PUT", fmt.Sprint("/note/result/", anns), `{"text":"changed"}`)
	p.as(t, "ben", 200, "PUT", fmt.Sprint("/note/result/", anns), `{"text":"changed again"}`)
	paper := p.uploadAs(t, pat, "unspoken paper")
	p.as(t, pat, 201, "POST", "/pledge/submission", note("unspoken pledge"))
	p.as(t, pat, 201, "POST", "/vote/submission", `{"fields":{"choice":{"fieldId":"choice","value":"a"}}}`)
	for i := range 30 {
		p.as(t, []string{pat, "ann"}[min(i, 1)], 201, "POST", "/seats/submission", note([]string{"unspoken seat", "seat"}[min(i, 1)]))
	}
	p.must(t, 400, "POST", "/seats/submission", note("one more"))
	cookie, annsCookie := p.signIn(t, pat), p.signIn(t, "ann")

	for args, want := range map[string]int{"--erase": 2, "": 2, "--erase --export x.zip": 2, "--export x.zip --dry-run": 2, "--export x.zip": 1} {
		if status, out, _ := exitStatus(t, s.person("nobody", strings.Fields(args)...)...); status != want || out != "" {
			t.Errorf("person %s: exit status %d, want %d: %s", args, status, want, out)
		}
	}
	if status, _, _ := exitStatus(t, s.person("nobody\xff", "--erase", "--yes")...); status != 2 {
		t.Errorf("a name that is no UTF-8: exit status %d", status)
	}
	const told = "PAGE  FORM    SUBMISSIONS  FILES  CHANGES TO OTHERS\n1     note    1            0      1\n1     paper   1            1      0\n" +
		"1     pledge  1            0      0\n1     seats   1            0      0\nSessions: 1.\nAnonymous submissions can't be found by a name.\n"
	for range 2 {
		_, out, said := exitStatus(t, s.person(pat, "--erase", "--dry-run")...)
		if diff := cmp.Diff(told, out); diff != "" || strings.Contains(said, "erasing") {
			t.Errorf("a dry run: %s%s", said, diff)
		}
	}
	damaged := filepath.Join(t.TempDir(), "key")
	testkit.WriteFile(t, damaged, "too short")
	for _, file := range []string{damaged, filepath.Dir(damaged), damaged + ".missing"} {
		status, out, said := exitStatus(t, append(s.person(pat, "--erase", "--dry-run"), "--anonymous-key", file)...)
		if status != 2 || out != "" || !strings.Contains(said, "by --anonymous-key: ") {
			t.Errorf("a key that can't be used: exit status %d: %s%s", status, out, said)
		}
	}
	p.as(t, pat, 200, "GET", fmt.Sprint("/note/submission/", noted.ID), "")
	status, out, stderr := exitStatus(t, s.person(pat, "--erase", "--yes", "--hooks", flags[1])...)
	if diff := cmp.Diff(told, out); diff != "" || status != 0 {
		t.Errorf("exit status %d, %s: %s", status, stderr, diff)
	}
	s.mustNotHold(t, pat, "unspoken", string(contentOf("unspoken paper", 64)))

	r.awaitDelivered(t, testkit.WaitLimit, 4)
	p.must(t, 404, "GET", fmt.Sprint("/note/submission/", noted.ID), "")
	p.must(t, 404, "GET", fmt.Sprintf("/paper/submission/%d/file/doc/file.bin", paper.ID), "")
	p.must(t, 200, "GET", "/vote/submission", "")
	history := p.must(t, 200, "GET", fmt.Sprintf("/note/submission/%d/history", anns), "").body
	if !strings.Contains(history, `"username":"","changes":[{"fieldId":"text","before":"by ann","after":"changed"}]`) || !strings.Contains(history, "ben") {
		t.Errorf("history: %s", history)
	}
	for c, want := range map[string]int{cookie: http.StatusSeeOther, annsCookie: http.StatusOK} {
		r, err := p.get(t.Context(), unredirected, "/", c)
		must(t, err)
		testkit.Same(t, "home is answered", r.status, want)
	}
	p.must(t, 201, "POST", "/seats/submission", note("in the place that is free"))
	p.must(t, 400, "POST", "/seats/submission", note("one more"))

	p.signIn(t, pat)
	for _, want := range []int{0, 1} { // a session alone, then nothing
		status, out, said := exitStatus(t, s.person(pat, "--erase", "--yes")...)
		if status != want || !strings.Contains(out, fmt.Sprintf("Sessions: %d.", 1-want)) || strings.Contains(said, "nor in deleted rows") != (want == 1) {
			t.Errorf("exit status %d, want %d: %s%s", status, want, out, said)
		}
	}
	must(t, p.terminate(t))
	s.mustNotHold(t, pat, "unspoken", string(contentOf("unspoken paper", 64)))
	mustNotTell(t, map[string]string{"log": p.output(), "command": stderr}, pat, "unspoken")
}

// mustNotHold looks for texts in all files of the embedded database.
func (s site) mustNotHold(t *testing.T, texts ...string) {
	t.Helper()
	if s.database != "" {
		return
	}
	mustNotTell(t, contentOfFiles(t, s.data), texts...)
}

func contentOfFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	held := map[string]string{}
	for _, name := range filesIn(t, dir) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		held[name] = string(content)
	}
	return held
}

// An erasure that is killed leaves each submission as a whole, or nothing of it, and ends when it is run again, while
// others go on.
func TestPersonEraseKilled(t *testing.T) { engines(t, testPersonEraseKilled) }

func testPersonEraseKilled(t *testing.T, s site) {
	s.addUser(t, pat)
	p, l := start(t, s, "--access-log=false"), newLedger()
	const count = 60
	var ids []int64
	for i := range count {
		text := fmt.Sprint("unspoken ", i)
		sub := p.uploadAs(t, pat, text)
		ids = append(ids, sub.ID)
		p.as(t, pat, 200, "PUT", fmt.Sprint("/paper/result/", sub.ID), fmt.Sprintf(`{"text":%q}`, text+", changed"))
	}
	people := startLoad(t, l, 2, false, p.url)
	left := count
	for round := range testkit.Rounds(3, 10) {
		release := s.lock(t, ids[10+round*5])
		cmd := exec.Command(binary, s.person(pat, "--erase", "--yes")...)
		cmd.Env = append(os.Environ(), "PGAPPNAME=killed")
		must(t, cmd.Start())
		testkit.Eventually(t, "some are gone", func() bool { return len(p.submissions(t, "paper")) < max(left, 1) })
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		release()
		s.awaitEnd(t, "killed")
		stored := p.submissions(t, "paper")
		left = len(stored)
		t.Log(left, "are left")
		for id, text := range stored {
			path, text := fmt.Sprint("/paper/submission/", id), strings.TrimSuffix(text, ", changed")
			if r := p.must(t, 200, "GET", path+"/file/doc/file.bin", ""); r.body != string(contentOf(text, sizeOf(text))) {
				t.Errorf("submission %d has %d bytes of its file", id, len(r.body))
			}
			if r := p.must(t, 200, "GET", path+"/history", ""); strings.Count(r.body, text) != 2 {
				t.Errorf("submission %d has the history %s", id, r.body)
			}
		}
	}
	l.moreAcked(t, 20)
	if status, _, said := exitStatus(t, s.person(pat, "--erase", "--yes")...); status != 0 && left > 0 {
		t.Errorf("exit status %d: %s", status, said)
	}
	l.moreAcked(t, 20)
	people.stop()
	l.check(t, p.submissions(t, "note"))
	testkit.Same(t, "left", len(p.submissions(t, "paper")), 0)
	tables := `SELECT (SELECT count(*) FROM file_chunks) || ' ' || (SELECT count(*) FROM history)`
	testkit.Same(t, "chunks of files and steps of histories", s.exec(t, tables), "0 0")
	s.mustNotHold(t, pat, "unspoken")
}

// awaitEnd waits until PostgreSQL has ended what a process had begun before it was killed.
func (s site) awaitEnd(t *testing.T, application string) {
	t.Helper()
	if s.database == "" {
		return
	}
	testkit.Eventually(t, "its transactions have ended", func() bool {
		return s.exec(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = '"+application+"'") == "0"
	})
}

// lock keeps a submission in PostgreSQL from being deleted, which takes a moment in the embedded database anyway.
func (s site) lock(t *testing.T, id int64) (release func()) {
	t.Helper()
	if s.database == "" {
		return func() {}
	}
	conn, err := pgx.Connect(t.Context(), s.database)
	must(t, err)
	must(t, testkit.ErrorOf(conn.Exec(t.Context(), "BEGIN")))
	must(t, testkit.ErrorOf(conn.Exec(t.Context(), "SELECT 1 FROM submissions WHERE id = $1 FOR UPDATE", id)))
	return func() { must(t, conn.Close(t.Context())) }
}

// What is exported is what the API tells, and the files, also of forms that have left their page.
func TestPersonExported(t *testing.T) { engines(t, testPersonExported) }

func testPersonExported(t *testing.T, s site) {
	s.addUser(t, pat)
	p := start(t, s)
	first := p.as(t, pat, 201, "POST", "/note/submission", note("first"))
	p.as(t, pat, 200, "PUT", fmt.Sprint("/note/result/", first.ID), `{"text":"a \"quote\""}`)
	p.as(t, "ann", 200, "PUT", fmt.Sprint("/note/result/", first.ID), `{"text":"third"}`)
	p.as(t, pat, 200, "PUT", fmt.Sprint("/note/result/", first.ID), `{"text":"fourth"}`)
	create(t, p, "note", note("by ann"))
	paper := p.uploadAs(t, pat, "paper")
	var want []string
	for _, path := range []string{fmt.Sprint("/note/submission/", first.ID), fmt.Sprint("/paper/submission/", paper.ID)} {
		want = append(want, p.must(t, 200, "GET", path, "").body)
	}
	s.edit(t, strings.Replace(pageSource, "form: paper", "form: another", 1))
	testkit.Eventually(t, "the form has left the page", func() bool {
		r, err := p.call(context.Background(), "GET", "/paper", "")
		return err == nil && r.status == 404
	})
	file := filepath.Join(t.TempDir(), "pat.zip")
	testkit.Contains(
		t, "output", mustRun(t, s.person(pat, "--export", file)...), "Anonymous submissions can't be found by a name.",
	)
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	content := readArchive(t, file)
	for i, line := range slices.Collect(strings.Lines(content["submissions.ndjson"])) {
		start, changed, found := strings.Cut(line, `,"changed":"`)
		if i >= len(want) || start+"}" != strings.TrimSpace(want[i]) || !found || !strings.HasSuffix(changed, "+0000\"}\n") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	of := fmt.Sprintf(`{"pageId":1,"formId":"note","id":%d,"timestamp":"AT","username":%q,"changes":`, first.ID, pat)
	history := of + `[{"fieldId":"text","before":"first","after":"a \"quote\""}]}` + "\n" +
		of + `[{"fieldId":"text","before":"third","after":"fourth"}]}` + "\n"
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+\+0000`)
	testkit.Diff(t, "history", moment.ReplaceAllString(content["history.ndjson"], "AT"), history)
	name := fmt.Sprintf("files/%d/1-doc/file.bin", paper.ID)
	if content[name] != string(contentOf("paper", sizeOf("paper"))) || len(content) != 3 {
		t.Errorf("there are %d files, and %d bytes of %s", len(content), len(content[name]), name)
	}
	before, err := os.ReadFile(file)
	must(t, err)
	mustRefuse(t, "is there already", s.person(pat, "--export", file)...)
	mustRefuse(t, "no submission has this name", s.person("Pat-Of-Nowhere", "--export", file+"2")...)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) || len(filesIn(t, filepath.Dir(file))) != 1 {
		t.Errorf("%v; files: %v", err, filesIn(t, filepath.Dir(file)))
	}
}

// readArchive returns the files of a ZIP file.
func readArchive(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(file)
	must(t, err)
	defer func() { must(t, archive.Close()) }()
	content := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		testkit.Same(t, f.Name, content[f.Name], "")
		content[f.Name] = string(text)
	}
	return content
}
