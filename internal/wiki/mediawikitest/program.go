package mediawikitest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// Variable names the folder of the MediaWiki to test with.
const Variable = "FORMULARY_TEST_MEDIAWIKI"

// programs are the folders of MediaWiki: the system's, and beside an older one the
// one that scripts/test-mediawiki unpacks.
var programs = []string{"/usr/share/mediawiki", "/usr/local/share/formulary-tests/mediawiki-1.43"}

// oldest is the version of MediaWiki that a full test runs on, 1.43.
const oldest = 43

// definitions is the file of MediaWiki with its version.
const definitions = "includes/Defines.php"

var (
	versionLine = regexp.MustCompile(`'MW_VERSION', '1\.(\d+)`)
	errMissing  = errors.New("there is no MediaWiki 1.43 with PHP: run 'make test-deps', " +
		"or install it (Debian: apt-get install mediawiki php-cli php-sqlite3)")
)

// find returns the folder to test with: the chosen one, or the first that is not
// older than 1.43. If a full test is not wanted, an older one will do, too.
func find(chosen string, full bool, folders ...string) (string, error) {
	if _, err := exec.LookPath("php"); err != nil {
		return "", errMissing
	}
	if chosen != "" {
		if _, err := version(chosen); err != nil {
			return "", fmt.Errorf("%s: %w", Variable, err)
		}
		return chosen, nil
	}
	old := ""
	for _, folder := range folders {
		if v, err := version(folder); err == nil && v >= oldest {
			return folder, nil
		} else if err == nil {
			old = folder
		}
	}
	if old == "" || full {
		return "", errMissing
	}
	return old, nil
}

// version is the number after "1." of a MediaWiki.
func version(folder string) (int, error) {
	text, err := os.ReadFile(filepath.Join(folder, definitions))
	if err != nil {
		return 0, err
	}
	match := versionLine.FindSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("%s has no version of MediaWiki", folder)
	}
	return strconv.Atoi(string(match[1]))
}
