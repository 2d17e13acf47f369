package auth

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/reload"
)

const newHashCost = 10

// maxLinks is how many symlinks are followed, as in the Linux kernel.
const maxLinks = 40

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
	err = updateUsersFile(file, func(content []byte) ([]byte, error) { return withUser(content, user, string(hash)), nil })
	if err != nil {
		return fmt.Errorf("set password of %s in %s: %w", user, file, err)
	}
	return nil
}

// RemoveUser removes every line of the user from the htpasswd file: if it removed
// the first one only, a forgotten second one would count.
func RemoveUser(file, user string) error {
	err := updateUsersFile(file, func(content []byte) ([]byte, error) {
		if rest := withoutUser(content, user); len(rest) < len(content) {
			return rest, nil
		}
		return nil, errors.New("there is no such user")
	})
	if err != nil {
		return fmt.Errorf("remove %s from %s: %w", user, file, err)
	}
	return nil
}

func withoutUser(content []byte, user string) []byte {
	var out []byte
	if bytes.HasPrefix(content, []byte(byteOrderMark)) {
		out, content = append(out, byteOrderMark...), content[len(byteOrderMark):]
	}
	for line := range bytes.Lines(content) {
		if !bytes.HasPrefix(line, []byte(user+":")) {
			out = append(out, line...)
		}
	}
	return out
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
	case password == "":
		return errors.New("password is empty")
	case len(password) > maxPasswordLen:
		return fmt.Errorf("password has %d bytes, bcrypt takes %d at most", len(password), maxPasswordLen)
	case strings.ContainsAny(password, "\x00\r\n"):
		return errors.New("password contains a NUL or a line break")
	}
	return nil
}

// updateUsersFile locks the folder, not the file: the file is replaced, and a
// lock on the old one would not protect the new one. A separate lock file would
// stay behind, owned by the user who created it, and lock out other users.
//
// A missing file counts as empty, and is created unless change fails.
func updateUsersFile(file string, change func(content []byte) ([]byte, error)) error {
	target, err := followLinks(file)
	if err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // and unlocks it
	if err := lock(folder); err != nil {
		return fmt.Errorf("lock folder: %w", err)
	}

	content, err := reload.ReadFile(target, maxFileSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	changed, err := change(content)
	if err != nil {
		return err
	}
	if err := replaceFile(target, changed, reload.Stat(target).Info); err != nil {
		return err
	}
	if err := durable.Sync(filepath.Dir(target)); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// lock waits for the lock on an open folder; closing the folder releases it.
// Some network file systems cannot lock a folder (NFS returns EBADF). There the
// change is made unlocked: a lost update when two people change passwords at
// the same moment is better than no way to change them.
func lock(folder *os.File) error {
	for {
		err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EBADF), errors.Is(err, syscall.EINVAL),
			errors.Is(err, syscall.ENOLCK), errors.Is(err, errors.ErrUnsupported):
			return nil
		}
		return err
	}
}

// followLinks returns the file that a write through file would reach, which
// need not exist. That is why filepath.EvalSymlinks will not do.
func followLinks(file string) (string, error) {
	for range maxLinks {
		folder, name := filepath.Split(file)
		folder, err := filepath.EvalSymlinks(cmp.Or(folder, "."))
		if err != nil {
			return "", err
		}
		file = filepath.Join(folder, name)
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return file, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(file)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			// Not filepath.Join, which would take "..", wrongly, for the parent
			// of a folder that is itself a link.
			link = folder + string(filepath.Separator) + link
		}
		file = link
	}
	return "", errors.New("too many levels of symbolic links")
}

// withUser returns content with the user's first line, the one that counts,
// replaced, or with a new line at its end.
func withUser(content []byte, user, hash string) []byte {
	var out bytes.Buffer
	lineEnd := "\n"
	rest := content
	if bytes.HasPrefix(rest, []byte(byteOrderMark)) {
		out.WriteString(byteOrderMark)
		rest = rest[len(byteOrderMark):]
	}
	done := false
	for raw := range bytes.Lines(rest) {
		text := trimLineEnd(string(raw))
		if end := string(raw[len(text):]); strings.HasSuffix(end, "\n") {
			lineEnd = end // the last line may end in \r alone
		}
		if !done && strings.HasPrefix(text, user+":") {
			fmt.Fprintf(&out, "%s:%s%s", user, hash, raw[len(text):])
			done = true
			continue
		}
		out.Write(raw)
	}
	if !done {
		if len(rest) > 0 && !bytes.HasSuffix(rest, []byte("\n")) {
			out.WriteString(lineEnd)
		}
		fmt.Fprintf(&out, "%s:%s%s", user, hash, lineEnd)
	}
	return out.Bytes()
}

// replaceFile replaces target by content atomically, and keeps mode and owner of
// the old file; old is nil if there was none.
func replaceFile(target string, content []byte, old os.FileInfo) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	if err := fillFile(temp, content, old); err != nil {
		return errors.Join(err, temp.Close())
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), target)
}

func fillFile(temp *os.File, content []byte, old os.FileInfo) error {
	if old != nil {
		keepOwner(temp.Chown, old)
		if err := temp.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := temp.Write(content); err != nil {
		return err
	}
	return temp.Sync() // before the rename, or a crash could leave an empty file
}

// keepOwner restores owner and group as far as it is permitted: only root can
// change the owner, other users can set a group that they are in.
func keepOwner(chown func(uid, gid int) error, old os.FileInfo) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if chown(int(stat.Uid), int(stat.Gid)) != nil {
		_ = chown(-1, int(stat.Gid))
	}
}
