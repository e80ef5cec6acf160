// Package console is the web page of an engine: what came in, what happened, and what needs a person. It is rendered on
// the server from the answers of the table of operations, and every action on it is a call of that table, as the
// logged-in user.
//
// Guaranteed: a page shows and does only what the user's role allows; a button for an operation that the role does not
// allow is not there. Following a link changes nothing; a form carries a token that no other site knows. Texts of
// scripts and from outside are escaped, cut and shown without the characters that reorder text. No page loads anything
// from another machine, and its content security policy allows no script within a page. Each page works without scripts
// in the browser, except for the chart, the editor and live updates.
//
// Not guaranteed: the counts of the last day before the whole day of the log is read after a start; the page says so.
//
// How do I add a page? Give it a template in templates, a method of Console in a file named after its subject, and a
// line in routes.go.
package console
