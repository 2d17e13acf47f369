package rest

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// errNotModified: the client has what it asks for.
var errNotModified = errors.New("not modified")

var errChanged = &request.StatusError{
	Status: http.StatusPreconditionFailed,
	Detail: "The submission, or the form's fields, changed since the ETag that If-Match names. Nothing was changed now. " +
		"Read the submission again, and send the request with its new ETag. " +
		"Weak tags (W/), which a proxy that compresses answers makes, never match.",
}

var errNoneMatch = &request.StatusError{
	Status: http.StatusPreconditionFailed,
	Detail: "The submission is in a state that If-None-Match excludes. Nothing was changed.",
}

// precondition is nil where the request's header names no tags.
func precondition(r *http.Request) service.Precondition {
	if r.Header["If-Match"] == nil && r.Header["If-None-Match"] == nil {
		return nil
	}
	return func(tag string) error { return checkTag(r, tag) }
}

// checkTag compares the tags in the request's header with that of a submission, in the order of
// RFC 9110, section 13.2.2. It is called only once it is known that the caller may do what they
// ask for: to everybody else the answer is the same as without tags.
func checkTag(r *http.Request, tag string) error {
	if lines := r.Header["If-Match"]; lines != nil {
		tags, err := parseTags("If-Match", lines)
		switch {
		case err != nil:
			return err
		case slices.Contains(tags, anyTag), slices.Contains(tags, entityTag{tag, false}):
		default:
			return errChanged
		}
	}
	lines := r.Header["If-None-Match"]
	if lines == nil {
		return nil
	}
	tags, err := parseTags("If-None-Match", lines)
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(tags, func(t entityTag) bool { return t == anyTag || t.opaque == tag }):
		return nil
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return errNotModified
	default:
		return errNoneMatch
	}
}

type entityTag struct {
	opaque string // with its quotes
	weak   bool
}

// anyTag is "*". No tag between quotes holds a space.
var anyTag = entityTag{opaque: " any "}

// parseTags reads the lines of a header, which count as one list.
func parseTags(name string, lines []string) (tags []entityTag, err error) {
	malformed := forms.InvalidRequest(name + ` must be "*", or entity tags in double quotes, separated by commas`)
	text := strings.Trim(strings.Join(lines, ","), " \t")
	if text == "*" {
		return []entityTag{anyTag}, nil
	}
	for text = strings.TrimLeft(text, ", \t"); text != ""; { // a list may have empty elements
		tag, rest, ok := cutTag(text)
		text = strings.TrimLeft(rest, " \t")
		if !ok || text != "" && text[0] != ',' {
			return nil, malformed
		}
		tags = append(tags, tag)
		text = strings.TrimLeft(text, ", \t")
	}
	if len(tags) == 0 {
		return nil, malformed
	}
	return tags, nil
}

// cutTag takes the first tag off a text: RFC 9110, section 8.8.3.
func cutTag(text string) (tag entityTag, rest string, ok bool) {
	text, tag.weak = strings.CutPrefix(text, "W/")
	opaque, quoted := strings.CutPrefix(text, `"`)
	opaque, rest, closed := strings.Cut(opaque, `"`)
	if !quoted || !closed || strings.ContainsFunc(opaque, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return entityTag{}, "", false
	}
	tag.opaque = text[:len(opaque)+2]
	return tag, rest, true
}
