package mailparse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlReader takes the text from HTML, token by token. The work is one pass and the memory that of the text,
// whatever the tags say: a tree, with all that an HTML parser repairs in it, can grow without bound.
type htmlReader struct {
	out strings.Builder
	// breaks is how many line breaks are due before the next text, blank whether a space is.
	breaks int
	blank  bool
	// hidden is the element whose text is not shown, zero outside of one.
	hidden atom.Atom
	// verbatim counts the open elements whose blanks count.
	verbatim int
	// link is where the open link leads, linkAt where its text begins.
	link   string
	linkAt int

	// formatting counts the open elements that format text, by name; opened is all of them.
	formatting map[atom.Atom]int
	opened     int
	most       int
}

// textOf returns what a reader shows of HTML as text, until that has so many bytes. cut says that there is
// more. formatting is how many elements that format text were open at once.
func textOf(source string, limit int) (text string, formatting int, cut bool) {
	r := htmlReader{formatting: make(map[atom.Atom]int)}
	tokens := html.NewTokenizer(strings.NewReader(source))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(r.out.String()), r.most, false
		case html.TextToken:
			if r.hidden == 0 {
				r.text(string(tokens.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attributes := tokens.TagName()
			r.start(atom.Lookup(name), attributes, tokens)
		case html.EndTagToken:
			name, _ := tokens.TagName()
			r.end(atom.Lookup(name))
		}
		if r.out.Len() > limit {
			return strings.TrimSpace(r.out.String()), r.most, true
		}
	}
}

func (r *htmlReader) start(tag atom.Atom, attributes bool, tokens *html.Tokenizer) {
	if r.hidden != 0 {
		return
	}
	switch {
	case isHidden(tag):
		r.hidden = tag
		return
	case isFormatting(tag):
		r.formatting[tag]++
		r.opened++
		r.most = max(r.most, r.opened)
	}
	r.breaks = max(r.breaks, breaksAround(tag))
	switch tag {
	case atom.A:
		r.closeLink()
		r.link, r.linkAt = strings.TrimPrefix(attribute(attributes, tokens, "href"), "mailto:"), r.out.Len()
	case atom.Br:
		r.breaks++
	case atom.Hr:
		r.text("---")
		r.breaks = max(r.breaks, 1)
	case atom.Img:
		r.text(attribute(attributes, tokens, "alt"))
	case atom.Li:
		r.text("*")
		r.blank = true
	case atom.Pre:
		r.verbatim++
	case atom.Td, atom.Th:
		r.blank = true
	}
}

func (r *htmlReader) end(tag atom.Atom) {
	if r.hidden != 0 {
		if tag == r.hidden {
			r.hidden = 0
		}
		return
	}
	switch {
	case tag == atom.A:
		r.closeLink()
	case tag == atom.Pre && r.verbatim > 0:
		r.verbatim--
	}
	if isFormatting(tag) && r.formatting[tag] > 0 {
		r.formatting[tag]--
		r.opened--
	}
	r.breaks = max(r.breaks, breaksAround(tag))
}

// closeLink writes where the open link leads behind its text, unless that says it.
func (r *htmlReader) closeLink() {
	link := r.link
	r.link = ""
	if link == "" || strings.HasPrefix(link, "#") {
		return
	}
	if shown := strings.TrimSpace(r.out.String()[r.linkAt:]); shown != link {
		r.blank = true
		r.text("( " + link + " )")
	}
}

// text writes text with its blanks as HTML means them.
func (r *htmlReader) text(text string) {
	if r.verbatim > 0 {
		r.begin()
		r.out.WriteString(text)
		return
	}
	for _, c := range text {
		if isSpace(c) {
			r.blank = true
			continue
		}
		r.begin()
		r.out.WriteRune(c)
	}
}

// begin writes the breaks or the blank that are due.
func (r *htmlReader) begin() {
	switch {
	case r.out.Len() == 0:
	case r.breaks > 0:
		r.out.WriteString("\n\n"[:min(r.breaks, 2)])
	case r.blank:
		r.out.WriteByte(' ')
	}
	r.breaks, r.blank = 0, false
}

func isSpace(c rune) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\f', '\u00a0':
		return true
	}
	return false
}

// isHidden says whether the text in an element is no text of the page. The tokenizer takes all up to
// the end tag of such an element for text, so that tag comes or nothing does.
func isHidden(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Title, atom.Iframe, atom.Noembed, atom.Noframes:
		return true
	}
	return false
}

// isFormatting says whether an element formats text: HTML calls those so that a parser opens again, all of
// them, wherever text goes on after it has closed them.
func isFormatting(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}

// breaksAround is how many line breaks part an element from what is before and after it.
func breaksAround(tag atom.Atom) int {
	switch tag {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Ul, atom.Ol, atom.Dl,
		atom.Pre, atom.Table:
		return 2
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Center, atom.Address, atom.Tr, atom.Li,
		atom.Dt,
		atom.Dd, atom.Caption, atom.Form, atom.Hr:
		return 1
	}
	return 0
}

// attribute is the value of a tag's attribute, empty if it has none of that name.
func attribute(more bool, tokens *html.Tokenizer, name string) string {
	for more {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		if string(key) == name {
			return string(value)
		}
	}
	return ""
}
