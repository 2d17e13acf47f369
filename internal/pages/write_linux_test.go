package pages

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Where there is no room for the new file and the former file, the page stays as it is. So it does if the folder is
// read-only.
func TestFullFolderOfPages(t *testing.T) {
	s := newSite(t).save("1.md", managed("")).open()
	options := []string{"--mount"}
	if os.Geteuid() != 0 {
		options = append(options, "--user", "--map-root-user")
	}
	if err := exec.Command("unshare", append(options, "true")...).Run(); err != nil {
		testkit.Missing(t, err)
	}
	self, err := os.Executable()
	s.must(err)
	const script = `cp "$1/1.md" "$1/../1.md"; mount -t tmpfs -o size=16k tmpfs "$1"; cp "$1/../1.md" "$1"
		for i in 1 2 3 4; do head -c 4096 /dev/zero >"$1/filler$i" || true; done; "$2"; cat "$1/1.md"; ls -A "$1"
		rm "$1"/filler*; mount -o remount,ro "$1"; "$2"`
	cmd, out := s.writer("unshare", append(options, "sh", "-euc", script, "sh", s.dir, self)...)
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, readOnly, _ := strings.Cut(string(got), "filler4\n")
	if !strings.HasPrefix(text, "begun\n"+ErrReadOnly.Error()+": ") || !strings.Contains(text, "no space left") || !strings.Contains(text, managed("")+"1.md\nfiller1\n") {
		t.Errorf("got %q", text)
	}
	testkit.Contains(t, "of a folder that is mounted read-only", readOnly, ErrReadOnly.Error())
}
