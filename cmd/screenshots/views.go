package main

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// ids are the parts of a path that name one of many: pages that differ in them alone are the same view.
var ids = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}|in_[0-9a-f]{24}`)

// viewOf names the view of a link: its path without ids, and the names of its filters.
func viewOf(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/ui/"), "/")
	switch {
	case parts[0] == "workflows" && len(parts) > 2:
		parts[1] = ""
		if parts[2] == "events" || parts[2] == "inputs" || parts[2] == "runs" {
			parts = parts[:3]
		}
	case parts[0] == "workflows": // each workflow is in a state of its own
	case parts[0] == "mutations":
		parts = parts[:1]
	}
	name := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(strings.Join(parts, "-"), "-"), "-")
	if name == "" {
		name = "home"
	}
	return ids.ReplaceAllString(name, "id")
}

// views follows the links from the first page and returns one page of each view, by its name. At most one link of a
// view is followed.
func (b *browser) views() (found map[string]string, err error) {
	found = map[string]string{"home": "/"}
	for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
		if err := b.visit(todo[0]); err != nil {
			return nil, err
		}
		links, err := evaluate[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href"))`)
		if err != nil {
			return nil, fmt.Errorf("read the links of %s: %w", todo[0], err)
		}
		slices.Sort(links)
		for _, link := range links {
			if !strings.HasPrefix(link, "/") {
				continue // an anchor, or another query of the same page
			}
			if name := viewOf(link); found[name] == "" {
				found[name] = link
				todo = append(todo, link)
			}
		}
	}
	return found, nil
}
