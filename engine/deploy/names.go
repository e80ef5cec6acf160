package deploy

import (
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	maxToken  = 64  // of a workflow name, a topic's token and a handler
	maxTopic  = 128 // of a whole topic
	separator = '-' // stands for whatever a name may not hold
)

// SuggestWorkflowName makes a usable workflow name out of any text.
func SuggestWorkflowName(text string) eventlog.WorkflowName {
	if token := usableToken(text); token != "" {
		return eventlog.WorkflowName(token)
	}
	return "workflow"
}

// SuggestTopic makes a usable topic out of any text.
func SuggestTopic(text string) eventlog.Topic {
	var topic string
	for part := range strings.SplitSeq(text, ".") {
		token := usableToken(part)
		if token == "" || len(topic)+1+len(token) > maxTopic {
			continue
		}
		if topic != "" {
			topic += "."
		}
		topic += token
	}
	if topic == "" {
		return "topic"
	}
	return eventlog.Topic(topic)
}

// SuggestHandler makes a usable handler name out of any text: send-mail becomes sendMail.
func SuggestHandler(text string) eventlog.Handler {
	var name strings.Builder
	upper := false
	for _, r := range text {
		switch {
		case isLetter(r) || isDigit(r) || r == '_' || r == '$':
			if name.Len() == 0 && isDigit(r) {
				name.WriteByte('_')
			}
			if upper && r >= 'a' && r <= 'z' {
				r -= 'a' - 'A'
			}
			name.WriteRune(r)
			upper = false
		default:
			upper = name.Len() > 0
		}
		if name.Len() >= maxToken {
			break
		}
	}
	if name.Len() == 0 {
		return "handler"
	}
	return eventlog.Handler(name.String()[:min(name.Len(), maxToken)])
}

// usableToken keeps letters, digits, - and _, starting with a letter or digit; empty when nothing is left.
func usableToken(text string) string {
	var token strings.Builder
	for _, r := range text {
		if token.Len() >= maxToken {
			break
		}
		switch {
		case isLetter(r) || isDigit(r):
			token.WriteRune(r)
		case token.Len() == 0:
		case r == '_' || r == '-':
			token.WriteRune(r)
		case !strings.HasSuffix(token.String(), string(separator)):
			token.WriteRune(separator)
		}
	}
	return strings.TrimRight(token.String(), string(separator))
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
