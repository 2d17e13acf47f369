package request

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
)

// pickFormat decides between the formats that a list can be had in. The
// parameter wins over the header.
func pickFormat(params *Params, header http.Header, offered []*encode.Format) *encode.Format {
	name, given := params.One("format")
	if !given {
		return accepted(header["Accept"], offered)
	}
	names := make([]string, len(offered))
	for i, kind := range offered {
		if names[i] = kind.Name; kind.Name == name {
			return kind
		}
	}
	last := len(names) - 1
	params.Invalid.AddError(forms.Say("format must be {0} or {1} for this list", names[:last], names[last]))
	return encode.JSON
}

// accepted is the format that Accept prefers. Of the formats that it names, the one
// with the highest q wins; the first one on a tie. A wildcard means JSON, and so does
// a header that names none of the formats: clients that know nothing of formats get
// what they always got.
func accepted(accept []string, offered []*encode.Format) *encode.Format {
	var best *encode.Format
	var bestQuality, wildcard float64
	for element := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaRange, parameters, err := mime.ParseMediaType(element)
		quality := 1.0
		if q, given := parameters["q"]; given {
			quality, err = strconv.ParseFloat(q, 64)
		}
		i := slices.IndexFunc(offered, func(k *encode.Format) bool { return k.MediaType == mediaRange })
		switch {
		case err != nil || !(0 <= quality && quality <= 1): // not acceptable; not a number is out of range, too
		case mediaRange == "*/*" || mediaRange == "application/*":
			wildcard = max(wildcard, quality)
		case i >= 0 && quality > bestQuality:
			best, bestQuality = offered[i], quality
		}
	}
	if wildcard > bestQuality {
		return encode.JSON
	}
	return cmp.Or(best, encode.JSON)
}
