package query

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

// NewCursors makes what encrypts cursors. The key has 32 bytes.
func NewCursors(key []byte) cipher.AEAD {
	block, _ := aes.NewCipher(key)                 // the length of the key is right
	aead, _ := cipher.NewGCMWithRandomNonce(block) // and the block is that of AES
	return aead
}

// boundTo is the additional data of a cursor: the list that it is bound to. Limit and format may
// change from page to page. Filters are the same in any order.
func (q *question) boundTo() []byte {
	rules := slices.Clone(q.Filter.Rules)
	slices.SortFunc(rules, func(x, y forms.Rule) int {
		return cmp.Or(cmp.Compare(x.FieldID, y.FieldID), cmp.Compare(x.Operator, y.Operator), cmp.Compare(x.Value, y.Value))
	})
	data, _ := json.Marshal([]any{ // texts and numbers only
		q.Form.PageID, q.Form.ID, q.Username, q.Filter.Search, rules, *q.Sort,
		comparison(newColumn(q.Form.Index(), q.Sort.ID).field), // an edit of the page may change it
		q.Reader,
	})
	return data
}

func (q *question) sealCursor(p Position) string {
	plain, _ := json.Marshal(p)                            // bytes and numbers only
	sealed := q.Cursors.Seal(nil, nil, plain, q.boundTo()) //nolint:gosec // it makes a random nonce of its own
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// openCursor returns nil for no cursor.
func (q *question) openCursor() (*Position, error) {
	if q.Cursor == "" {
		return nil, nil //nolint:nilnil // a list begins without a position
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err == nil {
		plain, err = q.Cursors.Open(nil, nil, plain, q.boundTo())
	}
	if err != nil {
		return nil, forms.InvalidRequest(forms.Say("cursor is not of this list: it was altered, " +
			"filters, q, username or sort differ, or somebody else has asked for it. Begin again without it"))
	}
	var p Position
	if err := json.Unmarshal(plain, &p); err != nil {
		return nil, fmt.Errorf("read a cursor of ours: %w", err)
	}
	return &p, nil
}
