package amend

import (
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// Fixes in words that are code as a whole.
var (
	renaming = regexp.MustCompile(`^rename (\S+) to (\S+)$`)
	writing  = regexp.MustCompile(`^(?:write|use) ([A-Za-z]\w*): (.+)$`)
	naming   = regexp.MustCompile(`^(?:write|use) ("[^"]*")$`)
)

// structural are the members of a workflow that hold named things. A name that the text does not show is placed there,
// and they are never it.
var structural = map[string]bool{"topics": true, "producers": true, "consumers": true, "hooks": true}

// Literal is the edit that a fix in words asks for at the name of a member, where its words are a rename, a member with
// its value or a name: "rename schedule to interval", `write interval: "5m"`, `use "row-old"`.
func (s *Source) Literal(at sandbox.Place, fix string) sandbox.Edit {
	if m := renaming.FindStringSubmatch(fix); m != nil {
		return s.Rename(at, m[1], m[2])
	}
	i := s.at(at)
	if i < 0 || strings.Contains(fix, "…") {
		return sandbox.Edit{}
	}
	if m := writing.FindStringSubmatch(fix); m != nil && s.whole(m[2]) && s.is(i+1, ":") {
		if last := s.end(i + 2); last > i+1 {
			return s.edit(s.tokens[i].from, s.tokens[last].to, m[1]+": "+m[2])
		}
	}
	if m := naming.FindStringSubmatch(fix); m != nil {
		switch text := s.textOf(s.tokens[i]); {
		case structural[strings.Trim(text, "\"'")]:
		case strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'"):
			return s.edit(s.tokens[i].from, s.tokens[i].to, m[1])
		case s.is(i+1, ":") || s.is(i+1, "("):
			return s.edit(s.tokens[i].from, s.tokens[i].to, m[1])
		}
	}
	return sandbox.Edit{}
}

// whole reports whether a text is one expression.
func (s *Source) whole(text string) bool {
	of := Read(text)
	return len(of.tokens) > 0 && of.end(0) == len(of.tokens)-1 && of.tokens[len(of.tokens)-1].to == len(text)
}
