package auth

import "context"

// Reverify returns the current identity of a user whose name and password were
// right when Authenticate saw them, and were stored since, as by a session.
// The error is ErrBadCredentials, a *BusyError or that of ctx.
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
