package mailparse

import (
	"strings"
	"testing"
)

func TestTextOfHTML(t *testing.T) {
	for _, c := range []struct{ html, text string }{
		{"", ""},
		{"<p>one<p>two", "one\n\ntwo"},
		{"<html><head><title>no</title><style>p {}</style></head><body>  a \n b </body>", "a b"},
		{"a<br>b<br><br>c", "a\nb\n\nc"},
		{"a<br><br><br><br>b", "a\n\nb"},
		{"<div>a</div><div>b</div>", "a\nb"},
		{"<ul><li>a</li><li>b</li></ul>c", "* a\n* b\n\nc"},
		{"<table><tr><td>Total</td><td>5 €</td></tr><tr><td>Tax</td><td>1 €</td></tr></table>", "Total 5 €\nTax 1 €"},
		{`see <a href="https://example.com/x?a=1&amp;b=2">this</a>.`, "see this ( https://example.com/x?a=1&b=2 )."},
		{`<a href="https://example.com">https://example.com</a> <a href="#top">up</a> <a name=x>here</a>`,
			"https://example.com up here"},
		{`<a href="mailto:a@example.com">a@example.com</a>`, "a@example.com"},
		{`<img src=x.png alt="a cat"> sat`, "a cat sat"},
		{"bo<b>l</b>d and&nbsp;&lt;tags&gt; &euro;&#8364;", "bold and <tags> €€"},
		{"<pre>a\n  b</pre>c", "a\n  b\n\nc"},
		{"<script>if (a < b) { alert('<p>') }</script>text<!-- no --><![CDATA[no]]>", "text"},
		{"<script>never closed <p>text", ""},
		{"a<hr>b", "a\n---\nb"},
		{"<blockquote>said</blockquote>answer", "said\n\nanswer"},
		{"<DIV>a</DIV><P>b</P>", "a\n\nb"},
		{"</p></b></li></a></pre>a", "a"},
		{"1 < 2 & 3 > 2 <", "1 < 2 & 3 > 2 <"},
	} {
		if text, _, cut := textOf(c.html, 1000); text != c.text || cut {
			t.Errorf("text of %s = %q, cut %v, want %q", c.html, text, cut, c.text)
		}
	}
}

func TestTextOfHTMLEnds(t *testing.T) {
	text, _, cut := textOf(strings.Repeat("<p>word ", 1000), 100)
	if !cut || len(text) < 90 || len(text) > 110 {
		t.Errorf("%d bytes, cut %v", len(text), cut)
	}
}

// Formatting counts while it is open, whatever the order in which it is closed.
func TestFormattingInEachOther(t *testing.T) {
	for _, c := range []struct {
		html string
		most int
	}{
		{"<b>a</b><b>b</b>", 1}, {"<b><i>a</b></i>", 2}, {"<b><div><b><div><b>", 3}, {"<p><div><span><li>", 0},
		{"</b></b><b>", 1},
		{strings.Repeat("<font>", 101), 101},
	} {
		if _, most, _ := textOf(c.html, 1000); most != c.most {
			t.Errorf("%.40s: %d open at once, want %d", c.html, most, c.most)
		}
	}
}
