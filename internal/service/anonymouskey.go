package service

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// submitterKey names the submitter for the form's limit of one submission. On an
// anonymous form that is a keyed hash: it can be recognised, but not turned
// back into a name without the key, and differs from form to form.
func (s *Service) submitterKey(f *forms.Form, username string) string {
	if !f.Anonymous {
		return "user:" + username
	}
	return "hash:" + hash(s.opts.AnonymousKey, strconv.FormatInt(f.PageID, 10), f.ID, username)
}

const anonymousKeySize = 32

// CheckAnonymousKey returns an error if the file is there and has no key.
func CheckAnonymousKey(path string) error {
	_, err := readAnonymousKey(path, false)
	if errors.Is(err, ErrOtherKey) { // it is missing
		return nil
	}
	return err
}

// LoadAnonymousKey returns the key of the hashes for a store, from a file that is made
// at the first start. The store has a fingerprint of the key, so that all servers on it
// recognise anonymous submitters by the same one. A store that was used with another
// key is refused, or, with renew, goes on with this one.
func LoadAnonymousKey(ctx context.Context, s store.Settings, path string, renew bool) ([]byte, error) {
	// Read before the file: a server that starts at the same time writes the
	// file first, and its fingerprint to the store second.
	stored, err := s.Setting(ctx, store.SettingAnonymousKey)
	if err != nil {
		return nil, fmt.Errorf("compare the key of anonymous submissions: %w", err)
	}
	key, err := readAnonymousKey(path, stored == "" || renew)
	if err != nil {
		return nil, err
	}
	fingerprint := base64.RawStdEncoding.EncodeToString(derive(key, "fingerprint")[:16])
	if renew {
		err = s.Release(ctx, store.SettingAnonymousKey)
	}
	if err == nil && (stored == "" || renew) {
		stored, err = s.Claim(ctx, store.SettingAnonymousKey, fingerprint)
	}
	if err != nil {
		return nil, fmt.Errorf("compare the key of anonymous submissions: %w", err)
	}
	if stored != fingerprint {
		return nil, ErrOtherKey
	}
	return key, nil
}

// ErrOtherKey says that the store was used with another key.
var ErrOtherKey = errors.New("the key of anonymous submissions is not the one that this store was used with: " +
	"copy the file from another server, or from where you keep its copy, since backups of Formulary do not have it")

// readAnonymousKey reads the key of the hashes from a file, or makes it, unless a new key
// would not match the store. It is not in the database, so that a copy of the
// database alone gives no name away.
func readAnonymousKey(path string, mayMake bool) ([]byte, error) {
	key, err := os.ReadFile(path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && !mayMake:
		return nil, fmt.Errorf("%s is missing: %w", path, ErrOtherKey)
	case missing:
		key = make([]byte, anonymousKeySize)
		rand.Read(key) // never fails
		// A link does not replace a file: servers that start at the same time must end up with one key.
		err = durable.Write(path, key, func(*os.File) error { return nil }, os.Link)
		if errors.Is(err, fs.ErrExist) {
			key, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load the key of anonymous submissions: %w", err)
	}
	if len(key) != anonymousKeySize {
		return nil, fmt.Errorf("load the key of anonymous submissions: %s is damaged (%d bytes instead of %d): "+
			"copy it from another server, or from where you keep its copy", path, len(key), anonymousKeySize)
	}
	return key, nil
}
