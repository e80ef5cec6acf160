package intl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Collator compares texts; it is Intl.Collator. It must not be used by two goroutines at once.
type Collator struct {
	locale      *Locale
	sensitivity string
	numeric     bool
	order       *collate.Collator
}

var collatorOptions = []string{"sensitivity", "numeric"}

var harmlessCollator = map[string]string{"localeMatcher": "", "usage": "sort", "ignorePunctuation": "false",
	"caseFirst": "false", "collation": "default"}

// CollatorOptions are the names of all options that are read.
func CollatorOptions() []string {
	return []string{"sensitivity", "numeric", "localeMatcher", "usage", "ignorePunctuation", "caseFirst", "collation"}
}

// otherOrder are locales whose order the tables of the library have from a time before it changed.
var otherOrder = []string{"da-DK", "zh-CN"}

// Collation makes a comparison.
func Collation(locale *Locale, o Options) (*Collator, error) {
	if err := o.only(harmlessCollator, collatorOptions...); err != nil {
		return nil, err
	}
	if slices.Contains(otherOrder, locale.localeData.Name) {
		return nil, rangeErrorf("the order of %q is not supported here: compare with another locale, or with < and >",
			locale.Name)
	}
	c := &Collator{locale: locale}
	var err error
	if c.sensitivity, err = o.choose("sensitivity", "variant", "accent", "base"); err != nil {
		return nil, err
	}
	numeric, err := o.choose("numeric", "false", "true")
	if err != nil {
		return nil, err
	}
	c.numeric = numeric == "true"
	var options []collate.Option
	switch c.sensitivity {
	case "base":
		options = []collate.Option{collate.IgnoreCase, collate.IgnoreDiacritics, collate.IgnoreWidth}
	case "accent":
		options = []collate.Option{collate.IgnoreCase, collate.IgnoreWidth}
	}
	tag, err := language.Parse(locale.localeData.Name)
	if err != nil {
		return nil, fmt.Errorf("find the order of %s: %w", locale.localeData.Name, err)
	}
	c.order = collate.New(tag, options...)
	return c, nil
}

// Compare is negative where a comes before b.
func (c *Collator) Compare(a, b string) int {
	if c.numeric {
		a, b = ranked(a), ranked(b)
	}
	return c.order.CompareString(norm.NFD.String(a), norm.NFD.String(b))
}

var digitRuns = regexp.MustCompile(`[0-9]+`)

// ranked writes numbers so that they compare by their value, digit by digit: without leading zeros, and
// after the number of their digits. The library's own way to do it confuses zero with no number.
func ranked(text string) string {
	return digitRuns.ReplaceAllStringFunc(text, func(run string) string {
		run = strings.TrimLeft(run, "0")
		if run == "" {
			run = "0"
		}
		return fmt.Sprintf("%09d%s", len(run), run)
	})
}

// Resolved are the options as they were understood.
func (c *Collator) Resolved() [][2]string {
	return [][2]string{{"locale", c.locale.Name}, {"usage", "sort"}, {"sensitivity", c.sensitivity},
		{"ignorePunctuation", "false"},
		{"collation", "default"}, {"numeric", fmt.Sprint(c.numeric)}, {"caseFirst", "false"}}
}
