package service

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/formulary/formulary/internal/forms"
)

// A cursor is the position of the last submission of a sorted page. It is
// encrypted, because it holds a value of that submission, and a link with a
// cursor may be passed to a user who may not read it. It is bound to the list
// that it was made for. One reader's position could tell another, who sees fewer
// submissions, about values of the rest: it counts for those who see all, or for
// its own reader alone. It does not hold that reader's name.

func newCursors(key []byte) cipher.AEAD {
	block, _ := aes.NewCipher(key)                 // the length of the key is right
	aead, _ := cipher.NewGCMWithRandomNonce(block) // and the block is that of AES
	return aead
}

// boundTo is the additional data of a cursor: the list that it is bound to. Limit and format may
// change from page to page. Filters are the same in any order.
func (a *Access) boundTo(opts ListOptions) []byte {
	rules := slices.Clone(opts.Filter.Rules)
	slices.SortFunc(rules, func(x, y forms.Rule) int {
		return cmp.Or(cmp.Compare(x.FieldID, y.FieldID), cmp.Compare(x.Operator, y.Operator), cmp.Compare(x.Value, y.Value))
	})
	reader := a.user
	if a.Rights.SeeAll { // all of them see the same
		reader = ""
	}
	data, _ := json.Marshal([]any{ // texts and numbers only
		a.Form.PageID, a.Form.ID, opts.Username, opts.Filter.Search, rules, *opts.Sort,
		a.Form.Comparison(opts.Sort.ID), // an edit of the page may change it
		reader,
	})
	return data
}

func (a *Access) sealCursor(opts ListOptions, p forms.Position) string {
	plain, _ := json.Marshal(p)                                        // bytes and numbers only
	sealed := a.service.cursors.Seal(nil, nil, plain, a.boundTo(opts)) //nolint:gosec // it makes a random nonce of its own
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// openCursor returns nil for no cursor.
func (a *Access) openCursor(opts ListOptions) (*forms.Position, error) {
	if opts.Cursor == "" {
		return nil, nil //nolint:nilnil // a list begins without a position
	}
	refused := forms.InvalidRequest(forms.Say("cursor is not of this list: it was altered, " +
		"filters, q, username or sort differ, or somebody else has asked for it. Begin again without it"))
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(opts.Cursor)
	if err != nil {
		return nil, refused
	}
	plain, err := a.service.cursors.Open(nil, nil, sealed, a.boundTo(opts))
	if err != nil {
		return nil, refused
	}
	var p forms.Position
	if err := json.Unmarshal(plain, &p); err != nil {
		return nil, fmt.Errorf("read a cursor of ours: %w", err)
	}
	return &p, nil
}
