package alert

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// Alert is what a receiver gets under data.
type Alert struct {
	Workflow  eventlog.WorkflowName `json:"workflow"`
	Condition Condition             `json:"condition"`
	issued
	// Message and Commands are those of `pawl why`.
	Message  string   `json:"message"`
	Commands []string `json:"commands"`
	// Text is all of it for a person, as chat tools show it.
	Text string `json:"text"`
	// Link leads to the explanation, where the engine has a public address.
	Link string `json:"link,omitempty"`
}

// escaped replaces the characters that mark mentions and links in Slack, and in tools with its syntax: a title or an
// error that came from outside must neither notify a channel nor become a link.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// text is the whole alert for a person.
func (a Alert) text() string { return escaped.Replace(a.plain()) }

func (a Alert) plain() string {
	var b strings.Builder
	if a.State == Resolved {
		fmt.Fprintf(&b, "Resolved: workflow %s %s no more (%s).", a.Workflow, title[a.Condition], a.Reason)
		return b.String()
	}
	again := ""
	if a.State == Repeated {
		again = "still "
	}
	fmt.Fprintf(&b, "Workflow %s %s%s (%s).\n%s", a.Workflow, again, title[a.Condition], a.Reason, a.Message)
	for _, command := range a.Commands {
		b.WriteString("\n    " + command)
	}
	if a.Link != "" {
		b.WriteString("\n" + a.Link)
	}
	return b.String()
}

// maxText bounds the text of an alert in bytes: chat tools cut longer ones.
const maxText = 4 << 10
