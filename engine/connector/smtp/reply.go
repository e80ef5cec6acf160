package smtp

import (
	"fmt"
	"strings"

	"github.com/emersion/go-smtp"

	"github.com/pawl-run/pawl/eventlog"
)

// closing is the reply of a server that shuts down, whatever it was asked.
const closing = 421

// classOf is the class of a reply that refuses.
func classOf(reply *smtp.SMTPError) eventlog.Class {
	detail := reply.EnhancedCode
	switch code := reply.Code; {
	case code >= 400 && code <= 499:
		return eventlog.Transient
	case code < 400 || code > 599:
		return eventlog.Internal // no answer to what was asked
	case code == 530, code == 534, code == 535, code == 538:
		return eventlog.Auth
	case detail[0] == 5 && detail[1] == 7:
		return eventlog.Permission
	case code == 552 && detail[0] == 5 && detail[1] == 2 && detail[2] == 2: // the mailbox is full
		return eventlog.Precondition
	case code >= 500 && code <= 504, code == 552, code == 555:
		return eventlog.Logic
	default:
		return eventlog.Precondition
	}
}

// maxSaid is the most bytes of an answer that are kept.
const maxSaid = 500

// said is a reply for people.
func (c *Connector) said(reply *smtp.SMTPError) string {
	text := strings.Join(strings.Fields(reply.Message), " ")
	if detail := reply.EnhancedCode; detail[0] > 0 {
		text = fmt.Sprintf("%d.%d.%d %s", detail[0], detail[1], detail[2], text)
	}
	return fmt.Sprintf("%d %s", reply.Code, c.shown(text))
}

// shown is what is kept of an answer. Secrets are blanked out before it is cut: the cut could leave a part of one,
// which would not be recognised.
func (c *Connector) shown(text string) string { return eventlog.Clip(c.redact.Text(text), maxSaid) }
