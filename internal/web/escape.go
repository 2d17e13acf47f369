package web

import "unicode/utf8"

// appendEscaped appends a text so that it stands for itself in HTML, between
// tags or in a quoted attribute. It writes what template.HTMLEscape does; rows
// of a table are too many for a template.
func appendEscaped[T string | []byte](dst []byte, text T) []byte {
	start := 0
	for i := range len(text) {
		var replaced string
		switch text[i] {
		case '&':
			replaced = "&amp;"
		case '<':
			replaced = "&lt;"
		case '>':
			replaced = "&gt;"
		case '"':
			replaced = "&#34;"
		case '\'':
			replaced = "&#39;"
		case 0:
			replaced = "\uFFFD"
		default:
			continue
		}
		dst = append(dst, text[start:i]...)
		dst = append(dst, replaced...)
		start = i + 1
	}
	return append(dst, text[start:]...)
}

// cut returns at most so many bytes of a text, no part of a character, and
// whether that is all of it.
func cut[T string | []byte](text T, limit int) (T, bool) {
	if len(text) <= limit {
		return text, true
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], false
}
