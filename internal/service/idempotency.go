package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// repeatable is what is stored beside a submission to recognise it when it is
// sent again. Both are keyed hashes: the store does not tell who sent an
// anonymous submission, nor what it said before it was changed.
type repeatable struct{ key, body string }

// repeatable makes the hashes for a key of the caller's choice. The key counts
// for the caller and the form only. Answers are the same in whatever order and
// encoding they are sent; files are the same by name and content.
func (a *Access) repeatable(key string, answers []forms.Answer) repeatable {
	var page [8]byte
	binary.BigEndian.PutUint64(page[:], uint64(a.Form.PageID)) //nolint:gosec // a bijection is all that is needed
	h := a.service.newTextHash()
	h.write("key", string(page[:]), a.Form.ID, a.user, key)
	stored := h.sum()

	h.write("body", stored)
	h.writeAnswers(answers)
	return repeatable{stored, h.sum()}
}

// KeyOfAnswers returns a key for Create that is another one for other answers.
// Repeats of the same answers from one page are stored once. Other answers from
// that page, after the back button, are a new submission.
func (a *Access) KeyOfAnswers(page string, answers []forms.Answer) string {
	h := a.service.newTextHash()
	h.write("page", page)
	h.writeAnswers(answers)
	return h.sum()
}

// writeAnswers hashes answers, in whatever order they are.
func (h *textHash) writeAnswers(answers []forms.Answer) {
	sorted := make([]*forms.Answer, len(answers))
	for i := range answers {
		sorted[i] = &answers[i]
	}
	slices.SortFunc(sorted, func(a, b *forms.Answer) int { return cmp.Compare(a.FieldID, b.FieldID) })
	for _, answer := range sorted {
		kind := "text"
		if answer.IsList {
			kind = "list"
		}
		h.write(answer.FieldID, kind, answer.Value)
		h.write(answer.List...)
		for _, file := range answer.Files {
			h.write(file.Name, file.SHA256)
		}
		if answer.Malformed != "" { // what could not be read is not known to be the same
			h.write("problem", answer.Malformed)
		}
	}
}

// newIdempotencyMAC returns what the hashes begin with: their secret. It comes
// from the secret of anonymous submissions, which all replicas share, and is
// another one, so that these hashes have nothing to do with those of
// Service.once.
func newIdempotencyMAC(onceKey []byte) hash.Cloner {
	derive := hmac.New(sha256.New, onceKey)
	derive.Write([]byte("idempotency"))
	mac := hmac.New(sha256.New, derive.Sum(nil))
	mac.Reset() // computes what all clones share
	return mac.(hash.Cloner)
}

// textHash hashes texts.
type textHash struct {
	mac hash.Hash
	buf []byte // what is not yet hashed: hashing short texts one by one is slow
}

// textHashBuffer is the size from which on the buffer of a textHash is hashed.
const textHashBuffer = 512

func (s *Service) newTextHash() *textHash {
	mac, _ := s.idempotencyMAC.Clone() // never fails for SHA-256
	return &textHash{mac: mac, buf: make([]byte, 0, textHashBuffer)}
}

// write hashes texts so that no other list of texts gives the same bytes.
func (h *textHash) write(texts ...string) {
	h.buf = binary.BigEndian.AppendUint64(h.buf, uint64(len(texts)))
	for _, text := range texts {
		h.buf = binary.BigEndian.AppendUint64(h.buf, uint64(len(text)))
		h.buf = append(h.buf, text...)
		if len(h.buf) >= textHashBuffer {
			h.flush()
		}
	}
}

func (h *textHash) flush() {
	h.mac.Write(h.buf)
	h.buf = h.buf[:0]
}

// sum returns the hash of what was written since the last sum.
func (h *textHash) sum() string {
	h.flush()
	sum := base64.RawStdEncoding.EncodeToString(h.mac.Sum(h.buf))
	h.mac.Reset()
	return sum
}

// maxReplays bounds how often a submission may be deleted by others between the
// create that finds its key used and the look at it.
const maxReplays = 4

// createOnce is Create with a key. invalid is what is wrong with the new
// submission, if anything: a submission that is stored already is returned even
// if the page would no longer take it.
func (a *Access) createOnce(ctx context.Context, n store.New, invalid error, r repeatable) (sub forms.Submission, replayed bool, err error) {
	n.Key, n.Body = r.key, r.body
	for range maxReplays {
		if invalid == nil {
			sub, err = a.service.store.Create(ctx, n)
			if !errors.Is(err, store.ErrKeyUsed) {
				return sub, false, Explain(err)
			}
		}
		stored, body, err := a.service.store.ByKey(ctx, a.Form.PageID, a.Form.ID, r.key)
		switch {
		case err == nil && body == r.body:
			return stored, true, nil
		case err == nil:
			return forms.Submission{}, false, &Error{Kind: KeyReused, Detail: "This Idempotency-Key belongs to a submission with other answers. " +
				"Send the same answers again, or use a new key. Nothing was stored."}
		case !errors.Is(err, store.ErrNotFound):
			return forms.Submission{}, false, Explain(err)
		case invalid != nil:
			return forms.Submission{}, false, invalid
		}
	}
	return forms.Submission{}, false, &Error{Kind: Unavailable, Detail: "The submission with this Idempotency-Key is being deleted again and again. Try again in a moment."}
}
