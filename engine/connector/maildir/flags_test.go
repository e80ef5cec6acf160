package maildir_test

import (
	"fmt"
	"testing"
)

// An id that still looks as if it had flags is that of its mail: get finds it, and a page after it does
// not begin with it again.
func TestAnIDThatLooksLikeAFileNameIsStillAnID(t *testing.T) {
	b := open(t)
	b.put("new/1.a:2,S:2,T", simple)
	b.put("new/1.b:2,S", simple)
	var seen []string
	params := `{"limit":1}`
	for range 5 {
		mails, _, next := b.list(params)
		for _, m := range mails {
			seen = append(seen, m.ID)
			if b.get(m.ID).ID != m.ID {
				t.Errorf("get %s gives another mail", m.ID)
			}
		}
		if next == nil {
			break
		}
		params = fmt.Sprintf(`{"limit":1,"after":%q}`, *next)
	}
	if len(seen) != 2 {
		t.Errorf("pages of one mail have shown %q, want each of two once", seen)
	}
	if m := b.get("1.b:2,S"); m.ID != "1.b" {
		t.Errorf("a file name that was kept leads to %q", m.ID)
	}
}

// A file that a person has named is no Maildir name with flags: two of them are two mails.
func TestNamesOfEmlFilesHaveNoFlags(t *testing.T) {
	b := open(t)
	b.put("Wow!2,000 users.eml", simple)
	b.put("Wow!2,500 users.eml", simple)
	if mails, ids, _ := b.list(`{}`); len(mails) != 2 {
		t.Errorf("two files are listed as %q", ids)
	}
}
