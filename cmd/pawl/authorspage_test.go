package main

import (
	"slices"
	"strings"
	"testing"
)

// authorsPage is the page for authors of workflows, part by part.
const authorsPage = "../../sandbox/SCRIPTS.md"

// pageBlock is a piece of code on the page.
type pageBlock struct {
	language, text string
}

// pagePart is what stands under one heading.
type pagePart struct {
	heading, prose string
	blocks         []pageBlock
}

// pageParts takes the authors' page apart.
func pageParts(t *testing.T) []pagePart {
	t.Helper()
	var parts []pagePart
	part := pagePart{}
	var block *pageBlock
	for line := range strings.Lines(read(t, authorsPage)) {
		switch {
		case block != nil && strings.HasPrefix(line, "```"):
			part.blocks = append(part.blocks, *block)
			block = nil
		case block != nil:
			block.text += line
		case strings.HasPrefix(line, "```"):
			block = &pageBlock{language: strings.TrimSpace(line[3:])}
		case strings.HasPrefix(line, "#"):
			parts = append(parts, part)
			part = pagePart{heading: strings.TrimSpace(strings.TrimLeft(line, "#"))}
		default:
			part.prose += line
		}
	}
	if block != nil {
		t.Fatalf("the code under %q has no end", part.heading)
	}
	return append(parts, part)[1:]
}

// pagePartOf is the part under a heading.
func pagePartOf(t *testing.T, heading string) pagePart {
	t.Helper()
	parts := pageParts(t)
	i := slices.IndexFunc(parts, func(p pagePart) bool { return p.heading == heading })
	if i < 0 {
		t.Fatalf("the page has no part %q", heading)
	}
	return parts[i]
}

// code is the part's one piece of code in a language.
func (p pagePart) code(t *testing.T, language string) string {
	t.Helper()
	var found []string
	for _, b := range p.blocks {
		if b.language == language {
			found = append(found, b.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q has %d pieces of %s, want one", p.heading, len(found), language)
	}
	return found[0]
}

// commands are the lines of the part's shell code.
func (p pagePart) commands(t *testing.T) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(p.code(t, "sh")), "\n")
}
