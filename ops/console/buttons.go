package console

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// namedOnPage is a command and what a page calls it.
type namedOnPage struct {
	command *regexp.Regexp
	button  string
}

// onPages lists commands that explanations and hints name, each with the name of the same thing on a page. A command
// without a page, such as pawl verify, stays as it is.
var onPages = sync.OnceValue(func() []namedOnPage {
	return []namedOnPage{
		{regexp.MustCompile(`write behind --happened\b`), "write with “It happened”"},
		{regexp.MustCompile(`with --including-unknown\b`), "of those too whose call may have been applied"},
		{regexp.MustCompile(`to redrive them all the same: --including-unknown, or includingUnknown: true`),
			"“Redrive” takes them all the same where that is ticked"},
		{regexp.MustCompile("`pawl resume`"), "“Resume”"},
		{regexp.MustCompile(`\bpawl redrive brings\b`), "“Redrive” brings"},
		{regexp.MustCompile(`: pawl resume [A-Za-z0-9_-]+$`), ", with “Resume”"},
		{regexp.MustCompile(`^pawl resume [A-Za-z0-9_-]+$`), "“Resume” lets it go on"},
		{regexp.MustCompile(`\bpawl workflows list\b`), "“Workflows”"},
		{regexp.MustCompile("`?\\bpawl (?:tokens list|logins|subscriptions|hooks list)`?"), "“System”"},
		{regexp.MustCompile("`?\\bpawl connectors (?:list|show [A-Za-z0-9_-]+)`?"), "“System”"},
		{regexp.MustCompile(`\bpawl (runs|events|jobs|mutations) list(?: --workflow [A-Za-z0-9_-]+)?`),
			"the workflow’s list of $1"},
		{regexp.MustCompile(`\bpawl workflows (?:show|source) [A-Za-z0-9_-]+`), "“script”"},
		{regexp.MustCompile(`\bpawl why(?: [A-Za-z0-9_-]+)? (says|lists)\b`), "the workflow’s page $1"},
		{regexp.MustCompile(`\bpawl why(?: [A-Za-z0-9_-]+)?`), "the workflow’s page"},
		{regexp.MustCompile(`\bpawl mutations show [A-Za-z0-9_-]+`), "its page"},
		{regexp.MustCompile(`\bpawl approve [A-Za-z0-9_-]+, or pawl reject [A-Za-z0-9_-]+`), "“Approve” or “Reject”"},
		{regexp.MustCompile(`\bpawl resolve [A-Za-z0-9_-]+ --happened, --did-not-happen or --skip`),
			"“It happened”, “It did not happen” or “Skip it”"},
		{regexp.MustCompile(`\bpawl resolve [A-Za-z0-9_-]+ --skip`), "“Skip it”"},
		{regexp.MustCompile(`\bpawl deploy(?: FILE)?`), "“Deploy”"},
	}
})

// asButtons replaces the commands in an explanation by the names of buttons and pages.
func asButtons(text string) string {
	for _, name := range onPages() {
		text = name.command.ReplaceAllString(text, name.button)
	}
	return text
}

// said is a message as a sentence of a page, with a capital. A name at its beginning, such as that of an operation,
// stays as it is.
func said(text string) string {
	text = plain(asButtons(text))
	first, size := utf8.DecodeRuneInString(text)
	word := text[:strings.IndexFunc(text+" ", func(r rune) bool { return !unicode.IsLetter(r) })]
	if word != strings.ToLower(word) || size == 0 || operations.MatchString(text) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// operations are sentences that begin with the name of an operation, such as http.post.
var operations = regexp.MustCompile(`^[a-z][A-Za-z0-9_-]*\.[A-Za-z]`)

// headline says on a page what the status of a problem means.
func headline(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusConflict:
		return "Not possible as it stands"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "This cannot be done"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "Not possible at the moment"
	}
	return http.StatusText(status)
}
