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

// read reports whether there is new content. After an error the old one stays.
func (f *textFile) read() (changed bool, err error) {
	if f.path == "" {
		return false, nil
	}
	content, err := reload.ReadFile(f.path, maxFileSize)
	if err != nil {
		return false, err
	}
	changed = f.content == nil || !bytes.Equal(content, f.content)
	f.content = content
	return changed, nil
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
	usersChanged, usersErr := d.users.read()
	if usersChanged {
		d.parseUsers()
	}
	groupsChanged, groupsErr := d.groups.read()
	if groupsChanged {
		d.parseGroups()
	}
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
		next.accounts[user] = account{h, Identity{Name: user, Groups: d.groupsOf[user], hash: h.hash}}
		topCost = max(topCost, h.cost)
	}
	topCost = cmp.Or(topCost, emptyFileCost)
	next.dummy.userHash = userHash{dummyHash(topCost), topCost}
	d.current.Store(next)
}
