package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// site is what an operator sets up: pages, users and a store.
type site struct {
	pages, users string
	data         string // the embedded database
	database     string // PostgreSQL instead, with the key beside it
	key          string
}

const pageSource = "```yaml form\n" + `form: note
fields:
  - {id: text, type: textbox, label: Text, required: true}
  - {id: more, type: textfield, label: More}
` + "```\n\n```yaml form\n" + `form: kept
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n\n```yaml form\n" + `form: paper
fields:
  - {id: text, type: textbox, label: Text, required: true}
  - {id: doc, type: file, label: Document}
` + "```\n\n```yaml form\n" + `form: vote
anonymous: true
oneSubmission: true
fields:
  - {id: choice, type: radio, label: Choice, required: true, options: [a, b]}
` + "```\n\n```yaml form\n" + `form: pledge
oneSubmission: true
fields:
  - {id: text, type: textfield, label: Text}
` + "```\n\n```yaml form\n" + `form: seats
limit: 30
fields:
  - {id: text, type: textfield, label: Text}
` + "```\n"

// newSite returns a site with the embedded database.
func newSite(t *testing.T) site {
	t.Helper()
	dir := t.TempDir()
	s := site{pages: filepath.Join(dir, "pages"), users: filepath.Join(dir, "users"), data: filepath.Join(dir, "data")}
	must(t, os.Mkdir(s.pages, 0o755))
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), pageSource)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	must(t, err)
	testkit.WriteFile(t, s.users, "ann:"+string(hash)+"\nben:"+string(hash)+"\n")
	return s
}

// on returns the same site with its submissions in PostgreSQL.
func (s site) on(database string) site {
	s.key = filepath.Join(filepath.Dir(s.users), "shared.key")
	s.data, s.database = "", database
	return s
}

// newSharedSite returns a site with a new database of the cluster that all tests
// share.
func newSharedSite(t *testing.T) site {
	t.Helper()
	return newSite(t).on(pgtest.Shared(t).Database(t))
}

// engines runs a test once with each, beside other tests.
func engines(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	t.Parallel()
	for name, newSite := range map[string]func(*testing.T) site{"sqlite": newSite, "postgres": newSharedSite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t))
		})
	}
}

// store returns the flags that select the store.
func (s site) store() []string {
	if s.database == "" {
		return []string{"--data", s.data}
	}
	return []string{"--database", s.database}
}

// command returns the arguments of a command on the site's store and a file.
func (s site) command(name, file string) []string {
	return append(append([]string{name}, s.store()...), file)
}

func (s site) serve() []string {
	args := append([]string{
		"serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--pages", s.pages, "--users", s.users,
	}, s.store()...)
	if s.key != "" {
		args = append(args, "--anonymous-key", s.key)
	}
	return args
}

func start(t *testing.T, s site, args ...string) *process {
	t.Helper()
	return launch(t, exec.Command(binary, append(s.serve(), args...)...))
}

// run runs a command that ends by itself, and returns its output.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	return string(out), err
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// mustRefuse fails the test unless the command fails and its output contains
// because. It returns the output.
func mustRefuse(t *testing.T, because string, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	if err == nil || !strings.Contains(out, because) {
		t.Errorf("%s: %v, and not %q: %s", strings.Join(args, " "), err, because, out)
	}
	return out
}

// assertNoPassword fails the test if an output contains the password of the
// database.
func assertNoPassword(t *testing.T, s site, said ...string) {
	t.Helper()
	u, err := url.Parse(s.database)
	must(t, err)
	password, ok := u.User.Password()
	if !ok {
		t.Fatal("there is no password that could be told")
	}
	for _, text := range said {
		if strings.Contains(text, password) {
			t.Errorf("it tells the password: %s", text)
		}
	}
}
