package main

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// link is a Markdown link and the line that it is in.
type link struct {
	text, target string
	line         int
}

var (
	inlineLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	// tagLink finds what an HTML tag in a document refers to, such as the pictures of a <picture>.
	tagLink  = regexp.MustCompile(`\b(?:src|srcset|href)="([^"]+)"`)
	spanCode = regexp.MustCompile("`[^`]*`")
	tagID    = regexp.MustCompile(`\b(?:id|name)="([^"]+)"`)
	linkMark = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// links checks that every link of every document leads to something: a file or folder of the module, and a heading if
// it names one. Other sites are not asked. A Go file that a document names with its folder has to be there too.
func (t *tree) links() (found []string) {
	for _, name := range slices.Sorted(maps.Keys(t.texts)) {
		if path.Ext(name) != ".md" {
			continue
		}
		for line, s := range outsideCode(string(t.texts[name])) {
			for _, file := range t.missingGo(inlineLink.ReplaceAllString(s, "$1")) {
				found = append(found, fmt.Sprintf("%s:%d: the page names %s, and there is no such file", name, line, file))
			}
			for _, l := range linksOf(s, line) {
				if why := t.dead(name, l.target); why != "" {
					found = append(found, fmt.Sprintf("%s:%d: the link to %s is dead: %s", name, line, l.target, why))
				}
			}
		}
	}
	return found
}

// dead says why a link of a document leads nowhere; empty means it leads somewhere.
func (t *tree) dead(document, target string) string {
	if to, err := url.Parse(target); err != nil || to.Scheme != "" {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	file, heading, anchored := strings.Cut(target, "#")
	to := document
	if file != "" {
		to = path.Join(path.Dir(document), file)
	}
	switch {
	case !t.paths[to]:
		return "there is no " + to
	case anchored && path.Ext(to) == ".md" && !slices.Contains(anchors(string(t.texts[to])), heading):
		return fmt.Sprintf("%s has no heading #%s", to, heading)
	}
	return ""
}

// outsideCode are the lines of a document that are no code block, with their numbers from 1.
func outsideCode(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		line, fence := 0, ""
		for s := range strings.Lines(text) {
			line++
			s = strings.TrimRight(s, "\r\n")
			mark := strings.TrimLeft(s, " ")
			switch {
			case fence != "":
				if strings.HasPrefix(mark, fence) {
					fence = ""
				}
			case strings.HasPrefix(mark, "```"):
				fence = "```"
			case strings.HasPrefix(mark, "~~~"):
				fence = "~~~"
			default:
				if !yield(line, s) {
					return
				}
			}
		}
	}
}

// linksOf are the links of a line. A link inside of code does not count, but code may be a link's text.
func linksOf(s string, line int) (all []link) {
	code := spanCode.FindAllStringIndex(s, -1)
	for _, m := range inlineLink.FindAllStringSubmatchIndex(s, -1) {
		if slices.ContainsFunc(code, func(c []int) bool { return c[0] < m[0] && m[1] <= c[1] }) {
			continue
		}
		all = append(all, link{text: strings.Trim(s[m[2]:m[3]], "`"), target: s[m[4]:m[5]], line: line})
	}
	for _, m := range tagLink.FindAllStringSubmatch(spanCode.ReplaceAllString(s, ""), -1) {
		all = append(all, link{target: m[1], line: line})
	}
	return all
}

// anchors are what a link may name in a document: its headings, as hosts of repositories spell them,
// and ids in HTML tags.
func anchors(text string) (all []string) {
	seen := make(map[string]int)
	for _, s := range outsideCode(text) {
		for _, m := range tagID.FindAllStringSubmatch(s, -1) {
			all = append(all, m[1])
		}
		title := strings.TrimLeft(s, "#")
		if depth := len(s) - len(title); depth == 0 || depth > 6 || !strings.HasPrefix(title, " ") {
			continue
		}
		name := slug(linkMark.ReplaceAllString(title, "$1"))
		if n := seen[name]; n > 0 {
			all = append(all, name+"-"+strconv.Itoa(n))
		} else {
			all = append(all, name)
		}
		seen[name]++
	}
	return all
}

// slug is a heading's name in links: lower case, spaces as hyphens, no punctuation.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}
