package sandbox

import "strings"

// Place is a position in the author's source; the zero value is unknown.
type Place struct {
	Line   int `json:"line"`   // 1-based
	Column int `json:"column"` // 1-based
}

// escaper keeps a slash in a member's name from ending that name's part of a key.
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// PlaceKey makes a path of members into a key of Places.
func PlaceKey(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(name))
	}
	return b.String()
}
