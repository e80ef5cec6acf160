package guide

import (
	"strings"
	"unicode"
)

// Section is a part of a page under one heading.
type Section struct {
	// Name is the heading as a part of an address; that of a recipe begins with "recipe-".
	Name, Title, Text string
}

// Sections are the parts of a page under its headings of the second level, and those of the third level that are
// numbered: the recipes.
func Sections(page string) []Section {
	var found []Section
	var open []int // the sections that the line belongs to, by their place in found
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		heading := strings.TrimSpace(strings.TrimLeft(line, "#"))
		switch {
		case fenced:
		case strings.HasPrefix(line, "## "):
			open = []int{len(found)}
			found = append(found, Section{Name: slug(heading), Title: heading})
		case strings.HasPrefix(line, "### "):
			open = open[:min(len(open), 1)]
			if unicode.IsDigit(rune(heading[0])) {
				open = append(open, len(found))
				found = append(found, Section{Name: "recipe-" + slug(heading), Title: heading})
			}
		}
		for _, i := range open {
			found[i].Text += line
		}
	}
	return found
}

// slug is a heading as a part of an address.
func slug(heading string) string {
	words := strings.FieldsFunc(strings.ToLower(heading), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}
