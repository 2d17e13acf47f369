package auth

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

const (
	// pollInterval has a change in force within two seconds: a file that keeps
	// changing is read as it is at the fourth poll.
	pollInterval = 500 * time.Millisecond
	// racyWindow is longer than the coarsest time stamps in use (2 s on FAT).
	racyWindow = 3 * time.Second
	// maxFileSize is enough for more than a hundred thousand users.
	maxFileSize = 16 << 20
)

// Watch polls both files until ctx ends. For two files events would save
// nothing.
func (d *Directory) Watch(ctx context.Context) {
	watch.Loop{Interval: pollInterval, Look: func() { d.reload(false) }, Stuck: d.setStuck}.Run(ctx)
}

// setStuck logs a poll that does not end, once, and its end.
func (d *Directory) setStuck(stuck bool) {
	d.stuck.Store(stuck)
	if stuck {
		d.log.Error("reading a file does not end, what was last read stays in force; check the file system that it is on",
			"file", d.polling.Load().path)
		return
	}
	d.log.Info("files can be read again")
}

// Ready returns an error that names the file if polling it does not end, so
// that changes of users and groups are not noticed.
func (d *Directory) Ready(context.Context) error {
	if !d.stuck.Load() {
		return nil
	}
	return fmt.Errorf("reading %s does not end: check the file system that it is on", d.polling.Load().path)
}

// Reload reads both files now, and returns when their content is in force. If a
// poll is running, Reload waits for it.
func (d *Directory) Reload() { d.reload(true) }

// reload polls both files and publishes what has changed. A poll accepts a change
// when it sees it for the second time, since the file may be half-written at the
// first. With atOnce, the files are known to be complete.
func (d *Directory) reload(atOnce bool) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	usersChanged := d.poll(d.users, atOnce)
	if usersChanged {
		d.parseUsers()
	}
	groupsChanged := d.groups != nil && d.poll(d.groups, atOnce)
	if groupsChanged {
		d.parseGroups()
	}
	if usersChanged || groupsChanged {
		d.publish()
	}
}

// poll polls one file. A file that cannot be read is logged once, not at every
// poll; with atOnce, it is logged each time.
func (d *Directory) poll(f *watchedFile, atOnce bool) (changed bool) {
	d.polling.Store(f)
	changed, err := f.poll(d.now(), atOnce)
	if err != nil {
		if !f.failing || atOnce {
			d.log.Error("cannot read file, what was last read stays in force", "file", f.path, "error", err)
		}
		f.failing = true
		return false
	}
	if f.failing && f.changes.Settled() {
		d.log.Info("file can be read again", "file", f.path)
		f.failing = false
	}
	return changed
}

func (d *Directory) parseUsers() {
	var bad []badLine
	d.hashes, bad = parseUsers(d.users.content)
	d.log.Info("users file read", "file", d.users.path, "users", len(d.hashes))
	if len(d.hashes) == 0 {
		d.log.Warn("no user can sign in: the users file holds none",
			"file", d.users.path, "fix", fmt.Sprintf("formulary passwd %s USER", d.users.path))
	}
	for _, b := range bad {
		fix := "correct or remove the line"
		if b.rehash {
			fix = fmt.Sprintf("formulary passwd %s USER", d.users.path)
		}
		d.log.Error("line of the users file refused",
			"file", d.users.path, "line", b.line, "user", b.user, "reason", b.reason, "fix", fix)
	}
}

func (d *Directory) parseGroups() {
	if d.groups == nil {
		return
	}
	var bad []badLine
	d.groupsOf, bad = parseGroups(d.groups.content)
	d.log.Info("groups file read", "file", d.groups.path, "users", len(d.groupsOf))
	for _, b := range bad {
		d.log.Error("line of the groups file refused", "file", d.groups.path, "line", b.line,
			"reason", b.reason, "fix", `write "group: user1 user2"`)
	}
}

// publish puts the content of both files in force.
func (d *Directory) publish() {
	next := &snapshot{accounts: make(map[string]account, len(d.hashes))}
	topCost := 0
	for user, h := range d.hashes {
		identity := Identity{Name: user, groups: d.groupsOf[user], hash: h.hash}
		next.accounts[user] = account{hash: h.hash, cost: h.cost, identity: identity}
		topCost = max(topCost, h.cost)
	}
	if topCost == 0 {
		topCost = emptyFileCost
	}
	next.dummy = account{hash: dummyHash(topCost), cost: topCost}
	d.current.Store(next)
}

// watchedFile is a file as it was last read, and what polls have seen since.
type watchedFile struct {
	path    string
	read    func(path string) ([]byte, os.FileInfo, error)
	content []byte
	changes watch.Changes
	readAt  time.Time // when the version of content was first read
	failing bool      // and logged
}

func openWatched(path string, now time.Time) (*watchedFile, error) {
	content, info, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	f := &watchedFile{path: path, read: readRegular, content: content, readAt: now}
	f.changes.Read(watch.VersionOf(info))
	return f, nil
}

// poll reports whether there is new content. With an error, the old stays. With
// atOnce, the file is read even if it seems to be unchanged.
func (f *watchedFile) poll(now time.Time, atOnce bool) (changed bool, err error) {
	info, err := statRegular(f.path)
	if err != nil {
		f.changes.Forget()
		return false, err
	}
	seen := watch.VersionOf(info)
	due := f.changes.Due(seen)
	// A second write within the resolution of the time stamp does not change
	// the stamp, and a new hash has the length of the old one. So the content
	// is compared until no such write is possible any more. readAt is by the
	// clock of this machine; the stamp may be by another one's.
	young := f.changes.Settled() && now.Sub(f.readAt) < racyWindow
	if due || young || atOnce {
		return f.take(seen, now)
	}
	return false, nil
}

// take reads the file. If it has changed since it was seen, the next poll decides.
func (f *watchedFile) take(seen watch.Version, now time.Time) (changed bool, err error) {
	content, info, err := f.read(f.path)
	if err != nil {
		f.changes.Forget()
		return false, err
	}
	version := watch.VersionOf(info)
	if !version.Same(seen) {
		return false, nil
	}
	if !f.changes.Current(version) {
		f.readAt = now
	}
	f.changes.Read(version)
	changed = !bytes.Equal(content, f.content)
	f.content = content
	return changed, nil
}

// statRegular is os.Stat for regular files only.
func statRegular(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return info, nil
}

// readRegular does not block on a pipe or a leased file.
func readRegular(path string) ([]byte, os.FileInfo, error) {
	return watch.ReadFile(path, maxFileSize)
}
