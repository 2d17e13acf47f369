package rest

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// errNotModified: the client has what it asks for.
var errNotModified = errors.New("not modified")

var errChanged = request.NewStatusError(http.StatusPreconditionFailed,
	forms.English("The submission, or the form's fields, changed since the ETag that If-Match names. "+
		"Nothing was changed now. Read the submission again, and send the request with its new ETag. "+
		"Weak tags (W/), which a proxy that compresses answers makes, never match."))

var errNoneMatch = request.NewStatusError(http.StatusPreconditionFailed,
	forms.English("The submission is in a state that If-None-Match excludes. Nothing was changed."))

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
		case slices.Contains(tags, anyTag), slices.Contains(tags, tag):
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
	case !slices.ContainsFunc(tags, func(t string) bool { return t == anyTag || strings.TrimPrefix(t, "W/") == tag }):
		return nil
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return errNotModified
	default:
		return errNoneMatch
	}
}

// anyTag is every tag.
const anyTag = "*"

// entityTag is a tag as RFC 9110, section 8.8.3, writes it. A list may have empty elements.
const entityTag = `(W/)?"[^\x00-\x20"\x7f]*"`

var (
	oneTag  = regexp.MustCompile(entityTag)
	tagList = regexp.MustCompile(`^[, \t]*` + entityTag + `([ \t]*,[, \t]*` + entityTag + `)*[, \t]*$`)
)

// parseTags reads the lines of a header, which count as one list.
func parseTags(name string, lines []string) (tags []string, err error) {
	text := strings.Trim(strings.Join(lines, ","), " \t")
	switch {
	case text == anyTag:
		return []string{anyTag}, nil
	case !tagList.MatchString(text):
		return nil, forms.InvalidRequest(forms.English(
			`%s must be "*", or entity tags in double quotes, separated by commas`, name))
	}
	return oneTag.FindAllString(text, -1), nil
}
