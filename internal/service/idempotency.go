package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// repeatable is what is stored beside a submission to recognise it when it is
// sent again. Both are keyed hashes: the store does not tell who sent an
// anonymous submission, nor what it said before it was changed.
type repeatable struct {
	key, body string
	sent      string // the body before fields and options were renamed: their page may have been changed since
}

// repeatable makes the hashes for a key of the caller's choice. The key counts
// for the caller and the form only.
func (a *Access) repeatable(key string, answers []forms.Answer) repeatable {
	stored := hash(a.service.idempotencyKey, "key", strconv.FormatInt(a.Form.PageID, 10), a.Form.ID, a.user, key)
	r := repeatable{key: stored, body: a.service.hashAnswers("body", stored, answers)}
	if a.Form.Names != nil {
		r.sent = a.service.hashAnswers("body", stored, asSent(answers))
	}
	return r
}

// KeyOfAnswers returns a key for Create that is another one for other answers.
// Repeats of the same answers from one page are stored once. Other answers from
// that page, after the back button, are a new submission.
func (a *Access) KeyOfAnswers(page string, answers []forms.Answer) string {
	return a.service.hashAnswers("page", page, asSent(answers))
}

// asSent returns the answers with the names that were sent.
func asSent(answers []forms.Answer) []forms.Answer {
	sent := slices.Clone(answers)
	for i, a := range answers {
		if a.Sent != nil {
			sent[i] = *a.Sent
		}
	}
	return sent
}

// hashAnswers hashes answers together with a prefix. They are the same in whatever
// order and encoding they are sent; files are the same by name and content.
func (s *Service) hashAnswers(kind, prefix string, answers []forms.Answer) string {
	texts := []string{kind, prefix}
	byField := func(a, b forms.Answer) int { return cmp.Compare(a.FieldID, b.FieldID) }
	for _, answer := range slices.SortedFunc(slices.Values(answers), byField) {
		texts = append(texts, answer.FieldID, strconv.FormatBool(answer.IsList), answer.Value, answer.Malformed.String())
		texts = append(append(texts, strconv.Itoa(len(answer.List))), answer.List...)
		texts = append(texts, strconv.Itoa(len(answer.Files)))
		for _, file := range answer.Files {
			texts = append(texts, file.Name, file.SHA256)
		}
	}
	return hash(s.idempotencyKey, texts...)
}

// hash returns a keyed hash of texts, which no other list of texts has.
func hash(key []byte, texts ...string) string {
	mac := hmac.New(sha256.New, key)
	for _, text := range texts {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		mac.Write([]byte(text))
	}
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

// maxReplays bounds how often a submission may be deleted by others between the
// create that finds its key used and the look at it.
const maxReplays = 4

// createOnce is Create with a key. invalid is what is wrong with the new
// submission, if anything: a submission that is stored already is returned even
// if the page would no longer take it.
func (a *Access) createOnce(
	ctx context.Context, n store.New, invalid error, r repeatable,
) (sub forms.Submission, replayed bool, err error) {
	n.Key, n.Body = r.key, r.body
	for range maxReplays {
		if invalid == nil {
			sub, err = a.conf.Store.Create(ctx, n)
			a.countWrite()
			if !errors.Is(err, store.ErrKeyUsed) {
				return sub, false, a.explain(err)
			}
		}
		stored, found, err := a.replay(ctx, r)
		if err != nil || found {
			return stored, found, err
		}
		if invalid != nil {
			return forms.Submission{}, false, invalid
		}
	}
	return forms.Submission{}, false, NewError(Unavailable,
		forms.English("The submission with this Idempotency-Key is being deleted again and again. Try again in a moment."))
}

// replay returns the submission that was stored with a key, if there is one.
func (a *Access) replay(ctx context.Context, r repeatable) (sub forms.Submission, found bool, err error) {
	sub, body, err := a.conf.Store.ByKey(ctx, a.Form.PageID, a.Form.ID, r.key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return forms.Submission{}, false, nil
	case err != nil:
		return forms.Submission{}, false, Explain(err)
	case body != r.body && body != r.sent:
		return forms.Submission{}, false, NewError(KeyReused,
			forms.English("This Idempotency-Key belongs to a submission with other answers. "+
				"Send the same answers again, or use a new key. Nothing was stored."))
	}
	sub, err = a.Form.Current(sub)
	return sub, true, err
}
