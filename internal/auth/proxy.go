package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/time/rate"
)

// ErrNobody says that the proxy names no user, or not one alone, or one that
// can't be used.
var ErrNobody = errors.New("the proxy names no user")

// Bounds of what a proxy says of one user.
const (
	maxGroups    = 1000
	maxGroupName = 255 // bytes
)

const (
	// enoughUsers have signed in before a group that none of them has is unknown.
	enoughUsers = 10
	// maxSeenGroups are remembered. Beyond it, none is unknown.
	maxSeenGroups = 10_000
)

// Proxy takes the user whom a proxy names in a header of the request. It believes
// every request: the server removes the headers from those that do not
// come from the proxy (see server.Options.ProxyHeaders).
type Proxy struct {
	unwatched
	userHeader, groupsHeader string // canonical; groupsHeader is "" for none
	log                      *slog.Logger
	complain                 rate.Sometimes

	mu            sync.Mutex
	users, groups map[string]bool // that the proxy has named since the start
}

// NewProxy makes a Proxy of the names of the headers. Groups are separated by
// commas; without a groupsHeader users have no groups.
func NewProxy(userHeader, groupsHeader string, log *slog.Logger) *Proxy {
	return &Proxy{
		userHeader: http.CanonicalHeaderKey(userHeader), groupsHeader: http.CanonicalHeaderKey(groupsHeader),
		log: log, complain: rate.Sometimes{Interval: time.Minute},
		users: map[string]bool{}, groups: map[string]bool{},
	}
}

// Identify returns whom the proxy names. The error is ErrNobody. Where the proxy
// has said something that can't be used, the log has the reason, without the name:
// the request may be for an anonymous form.
func (p *Proxy) Identify(r *http.Request) (Identity, error) {
	names := r.Header[p.userHeader]
	if len(names) == 0 || len(names) == 1 && names[0] == "" {
		return Identity{}, ErrNobody // who is not signed in, as the proxy may well let through
	}
	id, err := p.identity(names, r)
	if err != nil {
		p.complain.Do(func() {
			p.log.Warn("what the proxy says of a user can't be used, and they are refused", "reason", err)
		})
		return Identity{}, ErrNobody
	}
	p.remember(id)
	return id, nil
}

func (p *Proxy) remember(id Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.users) < enoughUsers {
		p.users[id.Name] = true
	}
	for _, group := range id.Groups {
		if len(p.groups) < maxSeenGroups {
			p.groups[group] = true
		}
	}
}

// UnknownName knows the groups that people have had since the start. The users are the proxy's.
func (p *Proxy) UnknownName(name string) (hint string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	group, isGroup := strings.CutPrefix(name, "@")
	switch {
	case !isGroup, p.groups[group], len(p.groups) == maxSeenGroups:
		return ""
	case p.groups["/"+group]:
		return fmt.Sprintf("the proxy sends %q: in Keycloak, switch “Full group path” off", "/"+group)
	case len(p.users) == enoughUsers:
		return "nobody has had it since the start: correct the name, or the groups that the proxy sends"
	}
	return ""
}

func (p *Proxy) identity(names []string, r *http.Request) (Identity, error) {
	if len(names) > 1 {
		return Identity{}, fmt.Errorf("the request has several headers %s", p.userHeader)
	}
	if err := checkUserName(names[0]); err != nil {
		return Identity{}, err
	}
	id := Identity{Name: names[0]}
	if p.groupsHeader == "" {
		return id, nil
	}
	var err error
	id.Groups, err = parseGroupsHeader(r.Header[p.groupsHeader])
	if err != nil {
		return Identity{}, fmt.Errorf("header %s: %w", p.groupsHeader, err)
	}
	return id, nil
}

// parseGroupsHeader refuses all of a list that it can't take whole: somebody with
// some of their groups would see some of their pages, and not know why.
func parseGroupsHeader(lists []string) ([]string, error) {
	if len(lists) > 1 {
		return nil, errors.New("there are several") // one of them may be the client's
	}
	var groups []string
	for name := range strings.SplitSeq(strings.Join(lists, ""), ",") {
		name = strings.Trim(name, " \t")
		switch {
		case name == "":
			continue
		case len(groups) == maxGroups:
			return nil, fmt.Errorf("more than %d groups", maxGroups)
		case len(name) > maxGroupName:
			return nil, fmt.Errorf("a group name is longer than %d bytes", maxGroupName)
		case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
			return nil, errors.New("a group name is not valid UTF-8 or contains a control character")
		}
		groups = append(groups, name)
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}

// Refresh returns the caller as they are: the proxy has said who they are with the
// request, and says nothing more until the next one.
func (p *Proxy) Refresh(id Identity) (Identity, error) { return id, nil }
