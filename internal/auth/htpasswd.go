package auth

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"
)

const (
	bcryptLen = 60
	// maxCost bounds what one attempt may take: cost 16 is some seconds already.
	maxCost = 16
	// emptyFileCost is the work for an unknown user where there are no users.
	emptyFileCost = 10

	bcryptAlphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	byteOrderMark  = "\uFEFF"
)

// userHash is one good line of the users file.
type userHash struct {
	hash string
	cost int
}

// badLine is a line that is ignored. It never holds any part of the hash,
// nor of a line without a colon, which may well be a stray password.
type badLine struct {
	line   int
	user   string // "" where the line names none
	reason string
	rehash bool // a new password for the user would fix it
}

// parseUsers reads an htpasswd file. Only the first line of a user counts, even if
// it is refused: a forgotten second line must not let anyone in.
func parseUsers(data []byte) (map[string]userHash, []badLine) {
	users := make(map[string]userHash)
	firstLine := make(map[string]int)
	var bad []badLine
	for number, line := range textLines(data) {
		user, hash, found := strings.Cut(line, ":")
		nameErr, first := checkUserName(user), firstLine[user]
		fault := badLine{line: number, user: user}
		switch cost, err := bcryptCost(hash); {
		case !found:
			fault.user, fault.reason = "", `malformed line, not "user:hash"`
		case nameErr != nil:
			fault.reason = nameErr.Error()
		case first != 0:
			fault.reason = fmt.Sprintf("duplicate user, line %d counts", first)
		case err != nil:
			firstLine[user] = number
			fault.reason, fault.rehash = err.Error(), true
		default:
			firstLine[user] = number
			users[user] = userHash{hash: hash, cost: cost}
		}
		if fault.reason != "" {
			bad = append(bad, fault)
		}
	}
	return users, bad
}

// textLines yields the lines of either file with their numbers from 1. It leaves
// out comments and blank lines, and strips line ends and a byte order mark.
func textLines(data []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		number := 0
		for raw := range bytes.Lines(bytes.TrimPrefix(data, []byte(byteOrderMark))) {
			number++
			line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
			if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
				continue
			}
			if !yield(number, line) {
				return
			}
		}
	}
}

// maxUserName is in bytes. A name is part of keys in the store, which databases
// limit.
const maxUserName = 255

// checkUserName refuses names that a line of the users file cannot hold, or that
// would be ambiguous in a log.
func checkUserName(name string) error {
	switch {
	case name == "":
		return errors.New("user name is empty")
	case len(name) > maxUserName:
		return fmt.Errorf("user name is longer than %d bytes", maxUserName)
	case !utf8.ValidString(name):
		return errors.New("user name is not valid UTF-8")
	case strings.Contains(name, ":"):
		return errors.New(`user name contains ":"`)
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("user name contains a control character")
	case strings.HasPrefix(name, "#"), strings.HasPrefix(name, byteOrderMark):
		return errors.New(`user name begins with "#" or a byte order mark, so its line would be read as something else`)
	}
	return nil
}

// bcryptCost returns the cost of a hash that can be used. All of the hash is
// checked, because bcrypt returns at once for a malformed one, and a
// client could measure that.
func bcryptCost(hash string) (int, error) {
	if len(hash) < 4 || !slices.Contains([]string{"$2a$", "$2b$", "$2y$"}, hash[:4]) {
		return 0, errors.New("no bcrypt hash ($2a$, $2b$ or $2y$): MD5, SHA-1, crypt and plain text are not accepted")
	}
	if len(hash) != bcryptLen || hash[6] != '$' || strings.Trim(hash[7:], bcryptAlphabet) != "" {
		return 0, errors.New("malformed bcrypt hash")
	}
	digits, err := strconv.ParseUint(hash[4:6], 10, 8) // unsigned: no "+9"
	cost := int(digits)
	if err != nil || cost < bcrypt.MinCost {
		return 0, errors.New("malformed bcrypt hash")
	}
	if cost > maxCost {
		return 0, fmt.Errorf("bcrypt hash of cost %d is not accepted, at most %d is", cost, maxCost)
	}
	return cost, nil
}

// dummyHash is a well-formed hash that no user has. Comparing with it takes the
// time of a real comparison, and the result is ignored.
func dummyHash(cost int) string {
	return fmt.Sprintf("$2a$%02d$%s", cost, strings.Repeat(".", bcryptLen-7))
}
