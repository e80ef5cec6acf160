package intl

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Part is a piece of a formatted text and what it stands for, in the language's words.
type Part struct{ Type, Value string }

// Text joins parts.
func Text(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Value)
	}
	return b.String()
}

// NumberFormat formats numbers; it is Intl.NumberFormat.
type NumberFormat struct {
	locale                         *Locale
	style, currency, display, sign string
	grouping                       string
	digits                         rounding
}

var numberOptions = []string{"style", "currency", "currencyDisplay", "minimumIntegerDigits", "minimumFractionDigits",
	"maximumFractionDigits", "minimumSignificantDigits", "maximumSignificantDigits", "useGrouping", "signDisplay"}

// harmlessNumber are options that change nothing with this value, or with any.
var harmlessNumber = map[string]string{"localeMatcher": "", "numberingSystem": "latn", "notation": "standard",
	"currencySign":   "standard",
	"compactDisplay": "", "unitDisplay": "", "roundingMode": "halfExpand", "roundingIncrement": "1",
	"roundingPriority": "auto", "trailingZeroDisplay": "auto"}

// NumberOptions are the names of all options that are read.
func NumberOptions() []string {
	return slices.Concat(numberOptions, []string{"unit"}, slices.Sorted(maps.Keys(harmlessNumber)))
}

var currencyCode = regexp.MustCompile(`^[A-Za-z]{3}$`)

// Numbers makes a format for numbers.
func Numbers(locale *Locale, o Options) (*NumberFormat, error) {
	if err := o.only(harmlessNumber, numberOptions...); err != nil {
		return nil, err
	}
	f := &NumberFormat{locale: locale}
	for _, option := range []struct {
		into   *string
		name   string
		values []string
	}{
		{&f.style, "style", []string{"decimal", "percent", "currency"}},
		{&f.display, "currencyDisplay", []string{"symbol", "narrowSymbol", "code"}},
		{&f.grouping, "useGrouping", []string{"auto", "always", "min2", "false"}},
		{&f.sign, "signDisplay", []string{"auto", "always", "never", "exceptZero", "negative"}},
	} {
		var err error
		if *option.into, err = o.choose(option.name, option.values...); err != nil {
			return nil, err
		}
	}
	fallback := rounding{whole: 1, most: 3}
	if code, ok := o["currency"]; ok && !currencyCode.MatchString(code) {
		return nil, rangeErrorf("%q is no currency; write its three letters, as in \"EUR\"", clip(code))
	}
	switch f.style {
	case "percent":
		fallback.most = 0
	case "currency":
		code, ok := o["currency"]
		if !ok {
			return nil, typeErrorf("style: \"currency\" needs a currency, for example currency: \"EUR\"")
		}
		f.currency = strings.ToUpper(code)
		decimals, ok := known().Currencies[f.currency]
		if !ok {
			return nil, rangeErrorf("the currency %q is not supported here; use one of %s, or format a plain number "+
				"and add the currency",
				clip(code), strings.Join(slices.Sorted(maps.Keys(known().Currencies)), ", "))
		}
		fallback.least, fallback.most = decimals, decimals
	}
	var err error
	f.digits, err = o.rounding(fallback)
	return f, err
}

// Parts writes a number in pieces; Text joins them.
func (f *NumberFormat) Parts(x float64) []Part { return f.parts(ofNumber(x)) }

// PartsOf writes the number that a text stands for, with all its digits; ok is false for texts that
// are no plain decimal number.
func (f *NumberFormat) PartsOf(text string) (parts []Part, ok bool) {
	n, ok := ofText(text)
	if !ok {
		return nil, false
	}
	return f.parts(n), true
}

func (f *NumberFormat) parts(n decimal) []Part {
	l := f.locale
	var body []Part
	zero := false
	switch n.special {
	case "NaN":
		body, zero = []Part{{"nan", l.NaN}}, true
	case "Infinity":
		body = []Part{{"infinity", l.Infinity}}
	default:
		if f.style == "percent" && n.digits != "" {
			n.point += 2
		}
		whole, fraction := f.digits.apply(n)
		zero = strings.Trim(whole+fraction, "0") == ""
		body = f.number(whole, fraction)
	}
	return f.around(body, f.signed(n, zero), n.special == "")
}

// signed chooses the sign.
func (f *NumberFormat) signed(n decimal, zero bool) (sign []Part) {
	minus, plus := []Part{{"minusSign", f.locale.Minus}}, []Part{{"plusSign", f.locale.Plus}}
	switch {
	case f.sign == "never", zero && (f.sign == "exceptZero" || f.sign == "negative"):
	case n.negative:
		return minus
	case f.sign == "always" || f.sign == "exceptZero":
		return plus
	}
	return nil
}

// number groups the whole part.
func (f *NumberFormat) number(whole, fraction string) []Part {
	group, point := f.locale.Group, f.locale.Decimal
	if f.style == "currency" {
		group, point = f.locale.Money.Group, f.locale.Money.Decimal
	}
	from := map[string]int{"auto": f.locale.Grouped, "always": 4, "min2": 5}[f.grouping]
	var parts []Part
	if from > 0 && len(whole) >= from {
		first := (len(whole)-1)%3 + 1
		parts = append(parts, Part{"integer", whole[:first]})
		for i := first; i < len(whole); i += 3 {
			parts = append(parts, Part{"group", group}, Part{"integer", whole[i : i+3]})
		}
	} else {
		parts = append(parts, Part{"integer", whole})
	}
	if fraction != "" {
		parts = append(parts, Part{"decimal", point}, Part{"fraction", fraction})
	}
	return parts
}

// around puts what the style needs around a number.
func (f *NumberFormat) around(body, sign []Part, digits bool) []Part {
	pattern, symbol := "-0", Part{}
	switch f.style {
	case "percent":
		pattern, symbol = "-"+f.locale.Percent, Part{"percentSign", f.locale.PercentSign}
	case "currency":
		symbol = Part{"currency", f.symbol()}
		pattern = f.money(symbol.Value, digits, len(sign) > 0)
	}
	var parts []Part
	literal := func(text string) {
		if text != "" {
			parts = append(parts, Part{"literal", text})
		}
	}
	start := 0
	for i, r := range pattern {
		var piece []Part
		switch {
		case r == '-':
			piece = sign
		case r == '0':
			piece = body
		case r == '¤', string(r) == symbol.Value:
			piece = []Part{symbol}
		default:
			continue
		}
		literal(pattern[start:i])
		parts = append(parts, piece...)
		start = i + utf8.RuneLen(r)
	}
	literal(pattern[start:])
	return parts
}

// symbol is what stands for the currency.
func (f *NumberFormat) symbol() string {
	if symbols := f.locale.Currencies[f.currency]; symbols != nil && f.display != "code" {
		if f.display == "narrowSymbol" {
			return symbols[1]
		}
		return symbols[0]
	}
	return f.currency
}

// money is the pattern of an amount. A symbol that ends in a letter keeps a distance from digits.
func (f *NumberFormat) money(symbol string, digits, signed bool) string {
	m := f.locale.Money
	last, _ := utf8.DecodeLastRuneInString(symbol)
	switch letters := digits && !unicode.IsSymbol(last); {
	case letters && signed:
		return m.LettersMinus
	case letters:
		return m.Letters
	case signed:
		return m.Minus
	}
	return m.Plain
}

// Resolved are the options as they were understood.
func (f *NumberFormat) Resolved() [][2]string {
	all := [][2]string{{"locale", f.locale.Name}, {"numberingSystem", "latn"}, {"style", f.style}}
	if f.style == "currency" {
		all = append(all, [2]string{"currency", f.currency}, [2]string{"currencyDisplay", f.display},
			[2]string{"currencySign", "standard"})
	}
	names := [2]string{"minimumFractionDigits", "maximumFractionDigits"}
	if f.digits.significant {
		names = [2]string{"minimumSignificantDigits", "maximumSignificantDigits"}
	}
	return append(all, [2]string{"minimumIntegerDigits", strconv.Itoa(f.digits.whole)},
		[2]string{names[0], strconv.Itoa(f.digits.least)},
		[2]string{names[1], strconv.Itoa(f.digits.most)}, [2]string{"useGrouping", f.grouping},
		[2]string{"notation", "standard"},
		[2]string{"signDisplay", f.sign}, [2]string{"roundingIncrement", "1"}, [2]string{"roundingMode", "halfExpand"},
		[2]string{"roundingPriority", "auto"}, [2]string{"trailingZeroDisplay", "auto"})
}
