package forms

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Sniffed is a type that the content of a file has, found by its first bytes.
type Sniffed struct {
	Type string // a media type without parameters
	Ext  string // the usual extension, with its dot; "" if there is none
}

// Types that say little about the content.
const (
	binaryType = "application/octet-stream"
	textType   = "text/plain"
	zipType    = "application/zip"
	oleType    = "application/x-ole-storage"
)

// CheckFile returns what is wrong with the name or content of a file that was
// sent for the field, or "". declared is the media type that the client sent
// with it. content is what was sniffed, the most specific type first, followed by the
// more general ones that it belongs to: a document, then a ZIP archive.
func (f *Field) CheckFile(name, declared string, content []Sniffed) string {
	accepts := func(token string) bool {
		if strings.HasPrefix(token, ".") {
			return strings.EqualFold(path.Ext(name), token) && hasExtension(content, token)
		}
		return isDeclared(declared, token) && hasType(content, canonicalType(token))
	}
	if len(f.Accept) == 0 || slices.ContainsFunc(f.Accept, accepts) {
		return ""
	}
	return "takes " + nameOptions(f.Accept) + ": the name, the type and the content of a file must agree with it"
}

// CheckFileSize returns what is wrong with the size of a file, or "".
func (f *Field) CheckFileSize(size int64) string {
	if f.MaxSize == 0 || size <= f.MaxSize {
		return ""
	}
	return "must not be larger than " + strconv.FormatInt(f.MaxSize, 10) + " bytes"
}

// isDeclared reports whether the type that a client sent matches an accepted
// type or range. Clients that don't know a file's type say so or send none;
// then the content alone decides.
func isDeclared(declared, token string) bool {
	declared, _, _ = strings.Cut(declared, ";")
	declared = canonicalType(strings.ToLower(strings.TrimSpace(declared)))
	return declared == "" || declared == binaryType || matchesType(declared, canonicalType(token))
}

// matchesType is for a type such as image/png or a range such as image/*.
func matchesType(mediaType, token string) bool {
	if top, isRange := strings.CutSuffix(token, "*"); isRange {
		return token == "*/*" || strings.HasPrefix(mediaType, top)
	}
	return mediaType == token
}

func hasType(content []Sniffed, token string) bool {
	if slices.ContainsFunc(content, func(s Sniffed) bool { return matchesType(s.Type, token) }) {
		return true
	}
	first := mostSpecific(content)
	switch {
	case strings.HasPrefix(token, "text/"): // most kinds of text have no signature
		return first == textType
	case strings.HasPrefix(token, "application/vnd.openxmlformats-"), strings.HasPrefix(token, "application/vnd.oasis."):
		return first == zipType // the entries that tell them apart need not be the first
	case token == "application/msword", strings.HasPrefix(token, "application/vnd.ms-"):
		return first == oleType
	default:
		return false
	}
}

// hasExtension reports whether a file with that content may have the
// extension. Extensions without a known signature, such as .md or .step, may
// hold any text, and whatever the sniffer does not recognise.
func hasExtension(content []Sniffed, ext string) bool {
	ext = strings.ToLower(ext)
	usual := ext
	if other, ok := otherExtensions[ext]; ok {
		usual = other
	}
	if slices.ContainsFunc(content, func(s Sniffed) bool { return s.Ext == usual || s.Ext == ext }) {
		return true
	}
	first := mostSpecific(content)
	if general, known := signed[usual]; known {
		return general != "" && first == general
	}
	isText := slices.ContainsFunc(content, func(s Sniffed) bool { return s.Type == textType })
	return isText || first == binaryType || first == zipType || first == oleType
}

func mostSpecific(content []Sniffed) string {
	if len(content) == 0 {
		return binaryType
	}
	return content[0].Type
}

// otherExtensions are second names of extensions.
var otherExtensions = map[string]string{
	".jpeg": ".jpg", ".jpe": ".jpg", ".tif": ".tiff", ".htm": ".html", ".xhtml": ".html", ".mpg": ".mpeg", ".mid": ".midi",
	".aif": ".aiff", ".ogx": ".ogg", ".opus": ".oga", ".heics": ".heic", ".heifs": ".heif", ".tgz": ".gz",
}

// signed are the extensions whose content has a signature, each with the more
// general type at which the sniffer may stop, or "". A file that has such an
// extension without the signature is something else.
var signed = map[string]string{
	".pdf": "", ".ps": "", ".rtf": "", ".epub": zipType,
	".png": "", ".jpg": "", ".gif": "", ".webp": "", ".bmp": "", ".tiff": "", ".heic": "", ".heif": "", ".avif": "", ".ico": "",
	".psd": "", ".svg": "text/xml", ".jxl": "", ".jp2": "",
	".zip": "", ".gz": "", ".7z": "", ".rar": "", ".tar": "", ".bz2": "", ".xz": "", ".zst": "",
	".docx": zipType, ".xlsx": zipType, ".pptx": zipType, ".vsdx": zipType, ".jar": zipType, ".apk": zipType,
	".odt": zipType, ".ods": zipType, ".odp": zipType, ".odg": zipType, ".kmz": zipType,
	".doc": oleType, ".xls": oleType, ".ppt": oleType, ".msg": oleType, ".msi": oleType,
	".mp3": "", ".wav": "", ".flac": "", ".ogg": "", ".oga": "application/ogg", ".aiff": "", ".midi": "", ".m4a": "video/mp4",
	".mp4": "", ".m4v": "video/mp4", ".mov": "video/mp4", ".avi": "", ".mkv": "", ".webm": "", ".mpeg": "", ".ogv": "application/ogg",
	".ttf": "", ".otf": "", ".woff": "", ".woff2": "", ".exe": "", ".wasm": "", ".sqlite": "",
	".html": textType, ".xml": textType, ".json": textType, ".csv": textType, ".txt": "",
}

// canonicalType replaces other names of a type by the one that is sniffed.
func canonicalType(mediaType string) string {
	if usual, ok := otherTypes[mediaType]; ok {
		return usual
	}
	return mediaType
}

var otherTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png", "image/vnd.microsoft.icon": "image/x-icon",
	"image/x-ms-bmp": "image/bmp", "application/x-pdf": "application/pdf", "application/xml": "text/xml", "application/rtf": "text/rtf",
	"application/csv": "text/csv", "application/javascript": "text/javascript",
	"application/x-zip-compressed": zipType, "application/x-zip": zipType, "application/x-gzip": "application/gzip",
	"application/x-rar-compressed": "application/vnd.rar", "application/x-rar": "application/vnd.rar",
	"audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/x-flac": "audio/flac",
	"video/x-matroska": "video/matroska", "video/avi": "video/x-msvideo", "video/msvideo": "video/x-msvideo",
}
