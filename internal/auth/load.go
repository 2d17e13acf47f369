package auth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/formulary/formulary/internal/reload"
)

// maxFileSize is enough for more than a hundred thousand users.
const maxFileSize = 16 << 20

// textFile is a file as it was last read.
type textFile struct {
	path    string // "" for no file
	content []byte // nil before the first read
}

// read has new content parsed, and reports whether there was any. After an error the old one stays.
func (f *textFile) read(parse func(content []byte) error) (changed bool, err error) {
	if f.path == "" {
		return false, nil
	}
	content, err := reload.ReadFile(f.path, maxFileSize)
	if err != nil {
		return false, err
	}
	if f.content != nil && bytes.Equal(content, f.content) {
		return false, nil
	}
	if err := parse(content); err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	f.content = content
	return true, nil
}

// Watch loads both files when they change, until ctx ends.
func (d *Directory) Watch(ctx context.Context) { d.watcher.Run(ctx) }

// Ready returns an error if a look at the files is stuck, so that changes of users
// and groups are not noticed.
func (d *Directory) Ready(context.Context) error { return d.watcher.Ready() }

// Reload reads both files now, and returns when their content is in force, or when
// ctx ends.
func (d *Directory) Reload(ctx context.Context) { d.watcher.Reload(ctx) }

// load reads both files and publishes what has changed in either. The other may be
// unreadable.
func (d *Directory) load(reload.State, bool) error {
	usersChanged, usersErr := d.users.read(d.parseUsers)
	groupsChanged, groupsErr := d.groups.read(d.parseGroups)
	if usersChanged || groupsChanged {
		d.publish()
	}
	if usersErr != nil {
		usersErr = &UsersFileError{File: d.users.path, Err: usersErr}
	}
	if groupsErr != nil {
		groupsErr = fmt.Errorf("read groups file: %w", groupsErr)
	}
	return errors.Join(usersErr, groupsErr)
}

// refuseGarbage returns an error if a file that had valid lines has invalid ones only. An empty
// file is accepted: it may be intended.
func refuseGarbage[T any](before, now map[string]T, bad []badLine) error {
	if len(before) == 0 || len(now) > 0 || len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("no line is valid; line %d: %s", bad[0].line, bad[0].reason)
}

func (d *Directory) parseUsers(content []byte) error {
	hashes, bad := parseUsers(content)
	if err := refuseGarbage(d.hashes, hashes, bad); err != nil {
		return err
	}
	d.hashes = hashes
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
	return nil
}

func (d *Directory) parseGroups(content []byte) error {
	groupsOf, bad := parseGroups(content)
	if err := refuseGarbage(d.groupsOf, groupsOf, bad); err != nil {
		return err
	}
	d.groupsOf = groupsOf
	d.log.Info("groups file read", "file", d.groups.path, "users", len(d.groupsOf))
	for _, b := range bad {
		d.log.Error("line of the groups file refused", "file", d.groups.path, "line", b.line,
			"reason", b.reason, "fix", `write "group: user1 user2"`)
	}
	return nil
}

// publish puts the content of both files in force.
func (d *Directory) publish() {
	next := &snapshot{accounts: make(map[string]account, len(d.hashes)), names: map[string]bool{}}
	topCost := 0
	for user, h := range d.hashes {
		next.names[user] = true
		next.accounts[user] = account{h, Identity{Name: user, Groups: d.groupsOf[user], hash: h.hash}}
		topCost = max(topCost, h.cost)
	}
	for _, groups := range d.groupsOf {
		for _, group := range groups {
			next.names["@"+group] = true
		}
	}
	topCost = cmp.Or(topCost, emptyFileCost)
	next.dummy.userHash = userHash{dummyHash(topCost), topCost}
	d.current.Store(next)
}
