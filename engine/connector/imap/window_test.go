package imap

import (
	"slices"
	"testing"

	"github.com/emersion/go-imap/v2"
)

// Numbers are taken in their order, each once, and no more than are wanted, whatever a server calls a set.
func TestFirstNumbers(t *testing.T) {
	const highest = 1<<32 - 1
	for name, c := range map[string]struct {
		all    imap.NumSet
		some   []imap.UID
		behind imap.UID
		most   int
		want   []imap.UID
	}{
		"nothing":                  {nil, nil, 0, 3, nil},
		"other numbers":            {imap.SeqSet{{Start: 1, Stop: 9}}, nil, 0, 3, nil},
		"billions":                 {imap.UIDSet{{Start: 1, Stop: highest}}, nil, 0, 3, []imap.UID{1, 2, 3}},
		"the highest of all":       {imap.UIDSet{{Start: 7, Stop: highest}}, nil, highest - 1, 3, []imap.UID{highest}},
		"a set without end":        {imap.UIDSet{{Start: 7}}, nil, 0, 3, nil},
		"behind one":               {imap.UIDSet{{Start: 2, Stop: 4}, {Start: 9, Stop: 9}}, nil, 3, 3, []imap.UID{4, 9}},
		"the last one once more":   {imap.UIDSet{{Start: 9, Stop: 9}}, nil, 9, 3, nil},
		"windows over one another": {imap.UIDSet{{Start: 3, Stop: 6}}, []imap.UID{3, 4}, 1, 9, []imap.UID{3, 4, 5, 6}},
		"enough":                   {imap.UIDSet{{Start: 3, Stop: 6}}, []imap.UID{1, 2}, 0, 2, []imap.UID{1, 2}},
	} {
		if got := addNumbers(c.all, c.some, c.behind, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
