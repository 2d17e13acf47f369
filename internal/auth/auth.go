// Package auth authenticates callers.
//
// Users are read from an htpasswd file, groups from an Apache-style group file.
// Both are reloaded while the server runs. Permissions are not decided here.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/wiki"
)

// maxPasswordLen is where bcrypt stops reading. A longer password is refused,
// because bcrypt would accept every password with the same beginning.
const maxPasswordLen = 72

// ErrBadCredentials says that there is no such user or that the password is
// wrong. It does not say which of the two.
var ErrBadCredentials = errors.New("unknown user or wrong password")

// ThrottledError says that the password was not checked: too many attempts failed lately,
// or too many other logins are under way.
type ThrottledError struct {
	RetryAfter time.Duration // whole seconds, at least one
	Busy       bool          // with other logins
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many logins or failed attempts, try again in %s", e.RetryAfter)
}

type (
	// WikiThrottledError says that the wiki takes no sign-in for a while.
	WikiThrottledError = wiki.ThrottledError
	// WikiUnavailableError says that the wiki did not answer as it should.
	WikiUnavailableError = wiki.UnavailableError
	// RefusedError comes with ErrBadCredentials, and says what the user can do about it.
	RefusedError = wiki.AdviceError
)

// UsersFileError says that the users file cannot be read.
type UsersFileError struct {
	File string
	Err  error
}

func (e *UsersFileError) Error() string { return "read users file: " + e.Err.Error() }
func (e *UsersFileError) Unwrap() error { return e.Err }

// Identity is an authenticated caller.
type Identity struct {
	Name   string
	Groups []string    // must not be changed
	hash   string      // of the password that was verified
	wiki   wiki.Caller // zero unless the caller is a user of a live wiki

	ByWikiCookies bool // the caller is signed in with the wiki, and not here
}

// WithAddress returns the identity of a request that comes from an address.
func (id Identity) WithAddress(addr string) Identity {
	id.wiki.From = addr
	return id
}

// Wiki is the caller as the wiki knows them, zero if no wiki does.
func (id Identity) Wiki() wiki.Caller { return id.wiki }

// Options configure a Directory.
type Options struct {
	UsersFile  string           // htpasswd, bcrypt only
	GroupsFile string           // "group: user1 user2"; "" for no groups
	Logger     *slog.Logger     // nil discards
	Now        func() time.Time // nil is time.Now
}

// Directory knows the users and their groups. Its methods may be called
// concurrently.
type Directory struct {
	log     *slog.Logger
	watcher *reload.Watcher
	// The watcher calls load once at a time. It alone uses what follows.
	users    textFile
	groups   textFile
	hashes   map[string]userHash
	groupsOf map[string][]string

	current atomic.Pointer[snapshot]
	gate
	flights singleflight.Group // by the MAC of the credential and the host

	// compare is bcrypt.CompareHashAndPassword; tests count its calls.
	compare func(hash, password []byte) error
}

// snapshot is the content of both files when they were last read. It is never
// changed, only replaced.
type snapshot struct {
	accounts map[string]account
	names    map[string]bool // of users, and of groups with @ before them
	dummy    account         // what the password of an unknown user is compared with
}

type account struct {
	userHash
	identity Identity
}

// Open reads both files. Lines that cannot be used are logged, and the rest
// applies; a file that cannot be read at all is an error, a *UsersFileError for
// the users file.
func Open(opts Options) (*Directory, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	d := &Directory{
		log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), gate: newGate(opts.Now, hashingCores()),
		users: textFile{path: opts.UsersFile}, groups: textFile{path: opts.GroupsFile},
		compare: bcrypt.CompareHashAndPassword,
	}
	look := func() reload.State { return reload.Stats(opts.UsersFile, opts.GroupsFile) }
	d.watcher = reload.New("users and groups", d.log, look, d.load)
	err := d.load(nil, true)
	if noUsers, ok := errors.AsType[*UsersFileError](err); ok {
		return nil, noUsers
	}
	if err != nil {
		return nil, fmt.Errorf("%w (make it readable, or start without one)", err)
	}
	return d, nil
}

// UnknownName knows users, and groups with a member.
func (d *Directory) UnknownName(name string) (hint string) {
	switch names := d.current.Load().names; {
	case names[name]:
		return ""
	case names["@"+name]:
		return fmt.Sprintf("did you mean %q?", "@"+name)
	}
	return "correct the name, or ask the operator of the server to add it"
}

// Authenticate returns the identity of the user with this name and password. The error is
// ErrBadCredentials, a *ThrottledError or that of ctx. addr is
// where the attempt comes from, with or without a port; it matters to
// throttling only.
//
// A host that has sent the same correct credential before is not throttled. A
// credential that only another host has verified is treated like a wrong guess,
// up to the comparison: whether the attempt is throttled, queued or refused must
// not reveal that the password is right.
func (d *Directory) Authenticate(ctx context.Context, user, password, addr string) (Identity, error) {
	current := d.current.Load()
	acct, known := current.accounts[user]
	if !known {
		acct = current.dummy
	}
	mac := d.verified.mac(user, password, acct.hash)
	from := ClientHost(addr)
	if known && d.verified.hasFrom(mac, from) {
		return acct.identity, nil
	}

	usable := known && usablePassword(password)
	if err := d.check(ctx, user, password, from, mac, acct, usable, current.dummy.cost); err != nil {
		return Identity{}, err
	}
	latest, err := d.Refresh(acct.identity) // the user may have been changed or removed while the attempt waited
	if err == nil {
		d.throttle.succeeded(from, user)
	}
	return latest, err
}

// Reverify returns the current identity of a user whose name and password were
// right when Authenticate saw them, and were stored since, as by a session.
// The error is ErrBadCredentials, a *ThrottledError that is Busy, or that of ctx.
//
// This is no way to guess a password, and must not become one: the caller has to
// forget a credential that is refused. So Reverify knows no address, is not
// throttled, costs no tokens of the throttle, and does not wait behind
// strangers. A refusal takes no more time than it needs.
func (d *Directory) Reverify(ctx context.Context, user, password string) (Identity, error) {
	acct, known := d.current.Load().accounts[user]
	if !known || !usablePassword(password) {
		return Identity{}, ErrBadCredentials
	}
	mac := d.verified.mac(user, password, acct.hash)
	if d.verified.has(mac) {
		return acct.identity, nil
	}
	release, err := d.slots.acquire(ctx, true)
	if err != nil {
		return Identity{}, err
	}
	defer release()
	if !d.verified.has(mac) { // another attempt may have verified it in the meantime
		if d.compare([]byte(acct.hash), []byte(password)) != nil {
			return Identity{}, ErrBadCredentials
		}
		d.verified.add(mac)
	}
	return d.Refresh(acct.identity) // the user may have been changed or removed while this waited
}

// Refresh returns the current identity, with its current groups, of a caller that
// was authenticated before. The error is ErrBadCredentials when the user was removed or has
// another password since.
func (d *Directory) Refresh(id Identity) (Identity, error) {
	acct, known := d.current.Load().accounts[id.Name]
	if !known || acct.hash != id.hash {
		return Identity{}, ErrBadCredentials
	}
	return acct.identity, nil
}

// usablePassword refuses what bcrypt would take for another password: one
// past its length, and one with a NUL, since "a\x00a" hashes like "a".
func usablePassword(password string) bool {
	return password != "" && len(password) <= maxPasswordLen && !strings.Contains(password, "\x00")
}

// check verifies a credential that is not in the cache, or not for this host, unless another
// attempt has done so in the meantime. If it is not usable, it fails whatever bcrypt says.
//
// It coalesces concurrent attempts of one host with one credential: one of them leads, the
// others wait for its answer. Only the leader pays with a token of the throttle, because
// together they try one password only. Attempts of other hosts are not coalesced with them:
// each host has to pass the throttle on its own.
func (d *Directory) check(
	ctx context.Context, user, password string, from netip.Addr, mac mac, acct account, usable bool, topCost int,
) error {
	key := string(mac[:]) + from.String()
	_, err := wiki.Coalesce(ctx, &d.flights, key, func(ctx context.Context) (none struct{}, err error) {
		if d.verified.hasFrom(mac, from) {
			return none, nil
		}
		return none, d.pass(ctx, mac, from, user, func() error {
			if d.verified.has(mac) {
				return nil
			}
			if !d.matches(acct, password, usable, topCost) {
				return ErrBadCredentials
			}
			d.verified.add(mac)
			return nil
		})
	})
	return err
}

// matches takes the same time for every failure. An unknown user comes with
// the dummy account, which has the highest cost in the file. A known user
// whose hash is cheaper gets the rest of that work afterwards: bcrypt takes
// 2^cost rounds, and 2^c + (2^c + 2^(c+1) + … + 2^(top-1)) = 2^top.
func (d *Directory) matches(acct account, password string, usable bool, topCost int) bool {
	text := []byte(password[:min(len(password), maxPasswordLen)])
	if d.compare([]byte(acct.hash), text) == nil && usable {
		return true
	}
	for cost := acct.cost; cost < topCost; cost++ {
		// Only the time matters: no password matches the dummy.
		_ = d.compare([]byte(dummyHash(cost)), text)
	}
	return false
}
