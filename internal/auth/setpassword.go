package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/reload"
)

const (
	newHashCost = 10
	// minPasswordLen is for new passwords. Shorter ones that are in a file still count.
	minPasswordLen = 8
)

// SetPassword adds the user to the htpasswd file or changes the password. All
// other lines stay as they are, and the file is replaced atomically. It is created
// if there is none.
func SetPassword(file, user, password string) error {
	if err := checkUserName(user); err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	if err := checkNewPassword(password); err != nil {
		return fmt.Errorf("set password of %s: %w", user, err)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), newHashCost)
	if err != nil {
		return fmt.Errorf("hash password of %s: %w", user, err)
	}
	line := user + ":" + string(hash) + "\n"
	withLine := func(content []byte) ([]byte, error) { return withUser(content, user, line), nil }
	if err := updateUsersFile(file, withLine); err != nil {
		return fmt.Errorf("set password of %s in %s: %w", user, file, err)
	}
	return nil
}

// RemoveUser removes every line of the user from the htpasswd file: if it removed
// the first one only, a forgotten second one would count. The last user who can sign in is
// removed only if last is true.
func RemoveUser(file, user string, last bool) error {
	err := updateUsersFile(file, func(content []byte) ([]byte, error) {
		if users, _ := parseUsers(content); !last && len(users) == 1 && users[user].cost > 0 {
			return nil, errors.New("nobody could sign in any more: add --yes if that is meant")
		}
		if rest := withUser(content, user, ""); len(rest) < len(content) {
			return rest, nil
		}
		return nil, errors.New("there is no such user")
	})
	if err != nil {
		return fmt.Errorf("remove %s from %s: %w", user, file, err)
	}
	return nil
}

// withUser returns content with the line in place of the first one of the user, or at
// the end, and without other lines of the user.
func withUser(content []byte, user, line string) (changed []byte) {
	for old := range bytes.Lines(bytes.TrimPrefix(content, []byte(byteOrderMark))) {
		if !bytes.HasPrefix(old, []byte(user+":")) {
			changed = append(changed, old...)
			continue
		}
		changed = append(changed, line...)
		line = ""
	}
	if line != "" && len(changed) > 0 && !bytes.HasSuffix(changed, []byte("\n")) {
		changed = append(changed, '\n')
	}
	return append(changed, line...)
}

// Users returns the names of the users of an htpasswd file who can sign in, sorted,
// and what is wrong with the lines that are refused.
func Users(file string) (names, refused []string, err error) {
	content, err := reload.ReadFile(file, maxFileSize)
	if err != nil {
		return nil, nil, fmt.Errorf("read users: %w", err)
	}
	users, bad := parseUsers(content)
	for _, b := range bad {
		refused = append(refused, fmt.Sprintf("line %d: %s", b.line, b.reason))
	}
	return slices.Sorted(maps.Keys(users)), refused, nil
}

func checkNewPassword(password string) error {
	switch {
	case utf8.RuneCountInString(password) < minPasswordLen:
		return fmt.Errorf("password is too short: use %d characters or more", minPasswordLen)
	case len(password) > maxPasswordLen:
		return fmt.Errorf("password has %d bytes, bcrypt takes %d at most", len(password), maxPasswordLen)
	case strings.ContainsAny(password, "\x00\r\n"):
		return errors.New("password contains a NUL or a line break")
	}
	return nil
}

// updateUsersFile replaces the file that a path, or a link, leads to, and keeps its mode and owner. A
// missing file counts as empty, and is created unless change fails.
func updateUsersFile(file string, change func(content []byte) ([]byte, error)) error {
	target, err := filepath.EvalSymlinks(file)
	if _, missing := os.Lstat(file); errors.Is(missing, fs.ErrNotExist) {
		target, err = file, nil
	}
	if err != nil {
		return err
	}
	// Some network file systems can't lock a folder. There, of two changes at the same moment one may be lost.
	if folder, err := durable.Lock(context.Background(), filepath.Dir(target)); err == nil {
		defer folder.Close() // and unlocks it
	}
	content, err := reload.ReadFile(target, maxFileSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	changed, err := change(content)
	if err != nil {
		return err
	}
	return durable.Replace(target, changed, target, func() error { return nil })
}
