package table

import "bytes"

// isDecimal accepts -?digits[.digits] in ASCII, as validation does.
func isDecimal(text []byte) bool {
	whole, frac, dot := bytes.Cut(bytes.TrimPrefix(text, []byte("-")), []byte("."))
	return isDigits(whole) && (!dot || isDigits(frac))
}

func isDigits(text []byte) bool {
	for _, b := range text {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(text) > 0
}

// exactDigits is how many digits of a number a spreadsheet keeps.
const exactDigits = 15

// isExact reports whether a spreadsheet that takes the text for a number gives
// back the same text: a decimal of few digits, without a leading zero or one
// at the end of a fraction, and not -0.
func isExact(text []byte) bool {
	if len(text) > exactDigits+len("-.") || !isDecimal(text) {
		return false
	}
	negative := text[0] == '-'
	whole, frac, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("-")), []byte("."))
	switch {
	case len(whole)+len(frac) > exactDigits,
		len(whole) > 1 && whole[0] == '0',
		len(frac) > 0 && frac[len(frac)-1] == '0',
		negative && len(frac) == 0 && whole[0] == '0':
		return false
	default:
		return true
	}
}
