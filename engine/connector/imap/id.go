package imap

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// inbox is the mailbox that each user has. Its name may be written in upper and lower case.
const inbox = "INBOX"

// maxMailbox is the most bytes of the name of a mailbox: with it an id fits into a messageId.
const maxMailbox = 480

// mailID is what names a mail: the numbering of its mailbox, its number in that, and the mailbox. The server gives a
// number to no other mail, as long as it keeps the numbering.
type mailID struct {
	validity uint32
	number   imap.UID
	mailbox  string
}

func (id mailID) String() string { return fmt.Sprintf("%d.%d.%s", id.validity, id.number, id.mailbox) }

var idForm = regexp.MustCompile(`^([1-9][0-9]{0,9})\.([1-9][0-9]{0,9})\.(.+)$`)

// parseID reads what String writes.
func parseID(text string) (mailID, *eventlog.Failure) {
	none := connector.Failf(eventlog.Logic, "imap.id", "%q is not the id of a mail, which imap.list returns",
		eventlog.ClipName(text))
	m := idForm.FindStringSubmatch(text)
	if m == nil {
		return mailID{}, none
	}
	validity, err := strconv.ParseUint(m[1], 10, 32)
	if err != nil {
		return mailID{}, none
	}
	number, err := strconv.ParseUint(m[2], 10, 32)
	if err != nil {
		return mailID{}, none
	}
	mailbox, failure := mailboxOf(m[3])
	if failure != nil || mailbox != m[3] {
		return mailID{}, none
	}
	return mailID{uint32(validity), imap.UID(number), mailbox}, nil
}

// mailboxOf is the name of a mailbox in its only spelling. It has to be fit for the id of a mail.
func mailboxOf(name string) (string, *eventlog.Failure) {
	switch {
	case strings.EqualFold(name, inbox):
		return inbox, nil
	case len(name) > maxMailbox || strings.TrimSpace(name) == "" || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError
	}):
		return "", connector.Failf(eventlog.Logic, "imap.mailbox", "%q is not the name of a mailbox: want at most %d bytes "+
			"without control characters", eventlog.ClipName(name), maxMailbox)
	}
	return name, nil
}
