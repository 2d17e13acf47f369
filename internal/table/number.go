package table

import (
	"bytes"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// exactDigits is how many digits of a number a spreadsheet keeps.
const exactDigits = 15

// numberFormat is how a cell shows a number: with the digits that were sent. It
// is 0.00 for 9.80, and 000 for 007.
type numberFormat struct {
	whole, fraction int  // digits
	minusZero       bool // a spreadsheet knows no negative zero
}

// formatOf returns the format of a decimal. It is false for any other text, and
// for a decimal of too many digits.
func formatOf(text []byte) (f numberFormat, ok bool) {
	if len(text) > exactDigits+len("-.") || !forms.IsDecimal(string(text)) {
		return f, false
	}
	whole, fraction, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("-")), []byte("."))
	if len(whole)+len(fraction) > exactDigits {
		return f, false
	}
	f.whole, f.fraction = 1, len(fraction)
	if whole[0] == '0' {
		f.whole = len(whole)
	}
	f.minusZero = text[0] == '-' && len(bytes.Trim(text, "-0.")) == 0
	return f, true
}

func (f numberFormat) code() string {
	code := strings.Repeat("0", f.whole)
	if f.fraction > 0 {
		code += "." + strings.Repeat("0", f.fraction)
	}
	if f.minusZero {
		code = `\-` + code
	}
	return code
}
