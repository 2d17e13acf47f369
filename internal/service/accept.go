package service

import (
	"path"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/formulary/formulary/internal/forms"
)

// accepts reports whether a field takes a file. Its name, the type that the
// client declared and its content must agree with one of the accepted types.
func accepts(f *forms.Field, name, declared string, content *mimetype.MIME) bool {
	return len(f.Accept) == 0 || slices.ContainsFunc(f.Accept, func(token string) bool {
		if strings.HasPrefix(token, ".") {
			return strings.HasSuffix(strings.ToLower(name), token) && fitsExtension(content, path.Ext(token))
		}
		return declares(declared, token) && fitsType(content, token)
	})
}

// wrongKind says that a field does not take a file.
func wrongKind(f *forms.Field, name string) *forms.Message {
	if len(kindsOf(f)) == 2 {
		return forms.Say("takes only {0}, and {1} is neither", FileKinds(f), name)
	}
	return forms.Say("takes only {0}, and {1} is something else", FileKinds(f), name)
}

// FileKinds says which files a field takes, as in "PDF files and pictures".
func FileKinds(f *forms.Field) (text *forms.Message) {
	kinds := kindsOf(f)
	for i, kind := range kinds {
		switch i {
		case 0:
			text = kind
		case len(kinds) - 1:
			text = forms.Say("{0} and {1}", text, kind)
		default:
			text = forms.Say("{0}, {1}", text, kind)
		}
	}
	return text
}

// kindsOf returns the kinds of files that a field takes, each once.
func kindsOf(f *forms.Field) (kinds []*forms.Message) {
	for _, token := range f.Accept {
		kind := kindOf(token)
		if !slices.ContainsFunc(kinds, func(m *forms.Message) bool { return m.String() == kind.String() }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func kindOf(token string) *forms.Message {
	switch token {
	case "*/*":
		return forms.Say("all files")
	case "image/*":
		return forms.Say("pictures")
	case "video/*":
		return forms.Say("videos")
	case "audio/*":
		return forms.Say("sound files")
	}
	if known := lookup(token); known != nil && known.Extension() != "" {
		token = known.Extension()
	}
	if ext, ok := strings.CutPrefix(token, "."); ok {
		token = strings.ToUpper(ext)
	}
	return forms.Say("{0} files", token)
}

// declares reports whether the type that a client sent matches an accepted type
// or range. Clients that don't know a file's type say so or send none; then the
// content alone decides.
func declares(declared, token string) bool {
	declared, _, _ = strings.Cut(declared, ";")
	declared = strings.ToLower(strings.TrimSpace(declared))
	known := lookup(declared)
	return declared == "" || declared == "application/octet-stream" || inRange(declared, token) ||
		declared == token || known != nil && known == lookup(token)
}

// inRange is for ranges such as image/*.
func inRange(mediaType, token string) bool {
	top, isRange := strings.CutSuffix(token, "*")
	return token == "*/*" || isRange && strings.HasPrefix(mediaType, top)
}

// lookup finds a type by one of its names, or returns nil.
func lookup(mediaType string) *mimetype.MIME {
	switch mediaType {
	case "image/jpg", "image/pjpeg": // names that browsers have sent
		mediaType = "image/jpeg"
	}
	return mimetype.Lookup(mediaType)
}

// fitsType reports whether a content is of an accepted type or range. Most kinds
// of text have no signature.
func fitsType(content *mimetype.MIME, token string) bool {
	if derives(content, func(m *mimetype.MIME) bool { return m.Is(token) || inRange(m.String(), token) }) {
		return true
	}
	if want := lookup(token); want != nil {
		return isKind(content, want)
	}
	return strings.HasPrefix(token, "text/") && content.Is("text/plain")
}

// isKind reports whether a content is of the wanted type, or of a more general
// type at which sniffing may have stopped: a document may look like any ZIP
// archive, and a table like any text.
func isKind(content, want *mimetype.MIME) bool {
	return derives(content, func(m *mimetype.MIME) bool { return m.Is(want.String()) }) ||
		derives(want.Parent(), func(m *mimetype.MIME) bool { return m.Parent() != nil && content.Is(m.String()) })
}

// derives reports whether a type, or one that it is a special case of, fits.
func derives(m *mimetype.MIME, fits func(*mimetype.MIME) bool) bool {
	for ; m != nil; m = m.Parent() {
		if fits(m) {
			return true
		}
	}
	return false
}

// signedTypes are types whose files are recognised by their content.
var signedTypes = strings.Fields(`
	application/pdf application/postscript text/rtf application/epub+zip text/html text/xml application/json text/csv text/plain
	image/png image/jpeg image/gif image/webp image/bmp image/tiff image/heic image/heif image/avif image/x-icon image/svg+xml image/jxl image/jp2
	image/vnd.adobe.photoshop application/zip application/gzip application/x-7z-compressed application/x-rar-compressed application/x-tar
	application/x-bzip2 application/x-xz application/zstd application/jar application/vnd.android.package-archive application/vnd.google-earth.kmz
	application/vnd.openxmlformats-officedocument.wordprocessingml.document application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
	application/vnd.openxmlformats-officedocument.presentationml.presentation application/vnd.ms-visio.drawing.main+xml
	application/vnd.oasis.opendocument.text application/vnd.oasis.opendocument.spreadsheet application/vnd.oasis.opendocument.presentation
	application/vnd.oasis.opendocument.graphics application/msword application/vnd.ms-excel application/vnd.ms-powerpoint application/vnd.ms-outlook
	audio/mpeg audio/wav audio/flac application/ogg audio/ogg audio/aiff audio/midi audio/x-m4a application/x-ms-installer
	video/mp4 video/x-m4v video/quicktime video/x-msvideo video/x-matroska video/webm video/mpeg video/ogg
	font/ttf font/otf font/woff font/woff2 application/vnd.microsoft.portable-executable application/wasm application/vnd.sqlite3`)

// otherExtensions are second names of extensions.
var otherExtensions = map[string]string{
	".jpeg": ".jpg", ".jpe": ".jpg", ".tif": ".tiff", ".htm": ".html", ".xhtml": ".html",
	".mpg": ".mpeg", ".mid": ".midi", ".aif": ".aiff", ".tgz": ".gz",
}

var signedExtensions = func() map[string]*mimetype.MIME {
	types := map[string]*mimetype.MIME{}
	for _, name := range signedTypes {
		if m := mimetype.Lookup(name); m != nil {
			types[m.Extension()] = m
		}
	}
	for other, usual := range otherExtensions {
		types[other] = types[usual]
	}
	return types
}()

// fitsExtension reports whether a file with that content may have the extension.
// Extensions without a known signature, such as .md or .step, may hold any text,
// and what is not recognised.
func fitsExtension(content *mimetype.MIME, ext string) bool {
	if want := signedExtensions[ext]; want != nil {
		return isKind(content, want)
	}
	return derives(content, func(m *mimetype.MIME) bool { return m.Extension() == ext || m.Is("text/plain") }) ||
		content.Parent() == nil || content.Is("application/zip") || content.Is("application/x-ole-storage")
}
