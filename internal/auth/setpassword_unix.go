//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package auth

import (
	"errors"
	"os"
	"syscall"
)

// lock waits for the lock on an open folder; closing the folder releases it.
// Some network file systems cannot lock a folder (NFS says EBADF). There the
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

// syncFolder makes a rename outlast a crash. File systems that have no notion
// of it say EINVAL.
func syncFolder(folder *os.File) error {
	if err := folder.Sync(); !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// keepOwner does what the caller's rights permit: root can give files away,
// others can at most pass them to a group of theirs.
func keepOwner(temp *os.File, old os.FileInfo) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if temp.Chown(int(stat.Uid), int(stat.Gid)) != nil {
		_ = temp.Chown(-1, int(stat.Gid))
	}
}
