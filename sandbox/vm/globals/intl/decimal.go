package intl

import (
	"math"
	"strconv"
	"strings"
)

// decimal is a number as people write it: 0.digits × 10^point. No digits is zero.
type decimal struct {
	negative bool
	digits   string // without zeros at the ends
	point    int
	special  string // "NaN" or "Infinity"
}

// MaxDigits bounds what a text may have; a number of the language has 17.
const MaxDigits = 1000

// ofNumber takes the shortest text that stands for x and no other number, as Node does.
func ofNumber(x float64) decimal {
	switch {
	case math.IsNaN(x):
		return decimal{special: "NaN"}
	case math.IsInf(x, 0):
		return decimal{special: "Infinity", negative: x < 0}
	}
	d, _ := ofText(strconv.FormatFloat(x, 'e', -1, 64))
	return d
}

// ofText reads what the language takes for a decimal number in a text, and says whether it was one.
func ofText(text string) (d decimal, ok bool) {
	rest := text
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		d.negative = rest[0] == '-'
		rest = rest[1:]
	}
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		n, err := strconv.Atoi(rest[i+1:])
		if err != nil || n > MaxDigits || n < -MaxDigits {
			return decimal{}, false
		}
		mantissa, exponent = rest[:i], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || len(digits) > MaxDigits || strings.Trim(digits, "0123456789") != "" {
		return decimal{}, false
	}
	d.point = len(whole) + exponent
	d.set(digits)
	return d, true
}

// set gives the number its digits, without zeros at the ends.
func (d *decimal) set(digits string) {
	short := strings.TrimLeft(digits, "0")
	d.point -= len(digits) - len(short)
	d.digits = strings.TrimRight(short, "0")
	if d.digits == "" {
		d.point = 0
	}
}

// rounded keeps so many digits, counted from the first one; halves go away from zero.
func (d decimal) rounded(keep int) decimal {
	if keep >= len(d.digits) {
		return d
	}
	if keep < 0 || d.digits[max(keep, 0)] < '5' {
		d.set(d.digits[:max(keep, 0)])
		return d
	}
	digits := []byte("0" + d.digits[:keep])
	i := len(digits) - 1
	for ; digits[i] == '9'; i-- {
		digits[i] = '0'
	}
	digits[i]++
	d.point++
	d.set(string(digits))
	return d
}

// split is the number's whole part and its fraction, each with at least so many digits.
func (d decimal) split(whole, fraction int) (string, string) {
	w, f := "", ""
	switch n := len(d.digits); {
	case d.point <= 0:
		f = strings.Repeat("0", -d.point) + d.digits
	case d.point >= n:
		w = d.digits + strings.Repeat("0", d.point-n)
	default:
		w, f = d.digits[:d.point], d.digits[d.point:]
	}
	if d.digits == "" {
		f = ""
	}
	return strings.Repeat("0", max(whole-len(w), 0)) + w, f + strings.Repeat("0", max(fraction-len(f), 0))
}
