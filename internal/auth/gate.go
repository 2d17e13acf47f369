package auth

import (
	"context"
	"errors"
	"net/netip"
)

// gate is what an attempt to sign in has to pass before its password is verified.
type gate struct {
	verified *verifiedCache
	throttle *throttle
	slots    *loginSlots
}

// newGate lets so many passwords be verified at the same time.
func newGate(now Clock, slots int) gate {
	return gate{verified: newVerifiedCache(now), throttle: newThrottle(now), slots: newLoginSlots(slots)}
}

// pass calls verify if the throttle allows an attempt. A guess that ctx cancels after
// that has cost its token. The token is taken after
// the slot: users behind one address who wait for a slot with a correct password, as
// all do after a restart, must not use up the tokens of the address. Other errors of
// verify than ErrBadCredentials cost no token.
//
// Only a pair of host and user that has succeeded before is trusted and served
// first. A credential that only another host has verified is not trusted: the
// shorter wait would reveal that the password is right.
func (g *gate) pass(ctx context.Context, m mac, from netip.Addr, user string, verify func() error) error {
	// The throttle does not hold up a host that has sent this very credential
	// before and only has to be verified anew: others may guess there.
	returning := g.verified.usedFrom(m, from)
	buckets, trusted := g.throttle.buckets(from, user)
	if err := g.throttle.check(buckets); err != nil && !returning {
		return err
	}
	release, err := g.slots.acquire(ctx, trusted || returning)
	if err != nil {
		return err
	}
	defer release()
	refund, err := g.throttle.reserve(from, user)
	if err != nil && !returning {
		return err
	}
	err = verify()
	if refund != nil && !errors.Is(err, ErrBadCredentials) && (err == nil || ctx.Err() == nil) {
		refund()
	}
	if err == nil {
		g.verified.addUse(m, from)
	}
	return err
}
