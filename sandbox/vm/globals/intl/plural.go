package intl

import (
	"slices"
	"strconv"
	"strings"
)

// PluralRules choose the form of a noun beside a number; it is Intl.PluralRules.
type PluralRules struct {
	locale  *Locale
	ordinal bool
	digits  rounding
}

var pluralOptions = []string{"type", "minimumIntegerDigits", "minimumFractionDigits", "maximumFractionDigits",
	"minimumSignificantDigits", "maximumSignificantDigits"}

// PluralOptions are the names of all options that are read.
func PluralOptions() []string { return append(slices.Clone(pluralOptions), "localeMatcher") }

// Plurals makes rules for plurals.
func Plurals(locale *Locale, o Options) (*PluralRules, error) {
	if err := o.only(map[string]string{"localeMatcher": ""}, pluralOptions...); err != nil {
		return nil, err
	}
	kind, err := o.choose("type", "cardinal", "ordinal")
	if err != nil {
		return nil, err
	}
	p := &PluralRules{locale: locale, ordinal: kind == "ordinal"}
	p.digits, err = o.rounding(rounding{whole: 1, most: 3})
	return p, err
}

// Select names the form for a number: one, two, few, many or other.
func (p *PluralRules) Select(x float64) string {
	n := ofNumber(x)
	if n.special != "" {
		return "other"
	}
	whole, fraction := p.digits.apply(n)
	language, _, _ := strings.Cut(p.locale.localeData.Name, "-")
	if p.ordinal {
		if strings.Trim(fraction, "0") != "" {
			return "other"
		}
		return ordinal(language, whole)
	}
	return cardinal(language, whole, fraction)
}

// cardinal knows the rules of the languages in locales.json. They look at the digits as they are written.
func cardinal(language, whole, fraction string) string {
	i := strings.TrimLeft(whole, "0")
	last, lastTwo := tail(i, 1), tail(i, 2)
	zeros := strings.Trim(fraction, "0") == ""
	million := fraction == "" && len(i) > 6 && strings.HasSuffix(i, "000000")
	one := false
	switch language {
	case "ja", "zh":
	case "en", "de", "nl", "sv":
		one = i == "1" && fraction == ""
	case "it":
		if one = i == "1" && fraction == ""; million {
			return "many"
		}
	case "es":
		if one = i == "1" && zeros; million {
			return "many"
		}
	case "fr", "pt":
		if one = i == "" || i == "1"; million {
			return "many"
		}
	case "da":
		one = i == "1" && zeros || (i == "" || i == "1") && !zeros
	case "pl":
		switch {
		case i == "1" && fraction == "":
			return "one"
		case fraction != "":
			return "other"
		case last >= 2 && last <= 4 && (lastTwo < 12 || lastTwo > 14):
			return "few"
		}
		return "many"
	}
	if one {
		return "one"
	}
	return "other"
}

func ordinal(language, whole string) string {
	i := strings.TrimLeft(whole, "0")
	last, lastTwo := tail(i, 1), tail(i, 2)
	switch language {
	case "en":
		switch {
		case last == 1 && lastTwo != 11:
			return "one"
		case last == 2 && lastTwo != 12:
			return "two"
		case last == 3 && lastTwo != 13:
			return "few"
		}
	case "fr":
		if i == "1" {
			return "one"
		}
	case "it":
		if slices.Contains([]string{"8", "11", "80", "800"}, i) {
			return "many"
		}
	case "sv":
		if (last == 1 || last == 2) && lastTwo != 11 && lastTwo != 12 {
			return "one"
		}
	}
	return "other"
}

// tail is the number that the last digits make.
func tail(digits string, n int) int {
	x, err := strconv.Atoi(digits[max(len(digits)-n, 0):])
	if err != nil {
		return 0 // no digits
	}
	return x
}

// forms are all that a language has, in the order in which Node lists them.
var forms = map[string][2]string{
	"en": {"one other", "few one two other"}, "de": {"one other", "other"}, "nl": {"one other", "other"},
	"sv": {"one other", "one other"},
	"it": {"many one other", "many other"}, "es": {"many one other", "other"}, "fr": {"many one other", "one other"},
	"pt": {"many one other", "other"}, "da": {"one other", "other"}, "pl": {"few many one other", "other"},
	"ja": {"other", "other"}, "zh": {"other", "other"},
}

// Resolved are the options as they were understood.
func (p *PluralRules) Resolved() [][2]string {
	kind, which := "cardinal", 0
	if p.ordinal {
		kind, which = "ordinal", 1
	}
	names := [2]string{"minimumFractionDigits", "maximumFractionDigits"}
	if p.digits.significant {
		names = [2]string{"minimumSignificantDigits", "maximumSignificantDigits"}
	}
	language, _, _ := strings.Cut(p.locale.localeData.Name, "-")
	return [][2]string{{"locale", p.locale.Name}, {"type", kind},
		{"minimumIntegerDigits", strconv.Itoa(p.digits.whole)},
		{names[0], strconv.Itoa(p.digits.least)}, {names[1], strconv.Itoa(p.digits.most)},
		{"pluralCategories", forms[language][which]}}
}
