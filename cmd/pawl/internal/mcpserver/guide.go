package mcpserver

import (
	"strings"
	"unicode"
)

// section is a part of the guide under one heading.
type section struct{ name, title, text string }

// sections are the parts of a page under its headings of the second level, and those of the third level that are
// numbered: the recipes.
func sections(page string) []section {
	var found []section
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
			found = append(found, section{name: slug(heading), title: heading})
		case strings.HasPrefix(line, "### "):
			open = open[:min(len(open), 1)]
			if unicode.IsDigit(rune(heading[0])) {
				open = append(open, len(found))
				found = append(found, section{name: "recipe-" + slug(heading), title: heading})
			}
		}
		for _, i := range open {
			found[i].text += line
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
