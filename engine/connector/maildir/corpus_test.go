package maildir_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// hostile is a mail that was made to do harm, or that a broken program made.
type hostile struct {
	name string
	mail string
	// reason is in what is said of it; empty wants that nothing is wrong with it.
	reason string
	// inPart: only get says that, since the rest of the mail is good.
	inPart bool
	// text is what get has of it in spite of all.
	text string
}

func corpus() []hostile {
	return slices.Concat(hostileHTML(), hostileParts(), hostileMails(), hostileHeaders(), hostileWords(),
		hostileFields(), hostileContent())
}

var again = strings.Repeat

// each is the format for 0, 1, 2 …
func each(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

const (
	date  = "Date: Tue, 6 Jan 2026 10:00:00 +0100\r\n"
	from  = "From: Eve <eve@example.com>\r\n" + date + "Subject: hi\r\n"
	plain = "Content-Type: text/plain; charset=utf-8\r\n\r\n"
	text  = plain + "text\r\n"
	page  = from + "Content-Type: text/html; charset=utf-8\r\n\r\n"
)

// parted is a mail of parts, each with its headers; it may also be closed.
func parted(parts ...string) string {
	return from + "Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\n" + strings.Join(parts, "\r\n--B\r\n") +
		"\r\n--B--\r\n"
}

// attached is a part with this type and these headers besides.
func attached(kind, headers, content string) string {
	return "Content-Type: " + kind + "\r\n" + headers + "\r\n" + content
}

// nested is a mail of so many multiparts in each other, each with a boundary of its own.
func nested(depth int, kind, inside string) string {
	var out strings.Builder
	out.WriteString(from)
	for i := range depth {
		fmt.Fprintf(&out, "Content-Type: multipart/%s; boundary=b%dx\r\n\r\n--b%dx\r\n", kind, i, i)
	}
	out.WriteString(inside)
	for i := depth - 1; i >= 0; i-- {
		fmt.Fprintf(&out, "\r\n--b%dx--\r\n", i)
	}
	return out.String()
}

// bomb is 85 KB of HTML: 400 elements that format text are never closed, and no two are the same, so a parser
// that builds a tree opens all of them again in each of the paragraphs.
func bomb() string { return page + "<p>" + each(400, "<b id=%d>") + again("<p>x", 20_000) }

func hostileHTML() []hostile {
	const formatting = "its HTML nests more than 100 elements that format text"
	return []hostile{
		{name: "formatting never closed", mail: bomb(), reason: formatting, text: "x\n\nx"},
		{name: "formatting never closed, beside text",
			mail: parted(text, attached("text/html", "", again("<font>", 200))), reason: formatting, text: "text"},
		{name: "formatting that is closed", mail: page + again("<b><i>x</i></b> ", 10_000) + "text", text: "x x x"},
		{name: "links never closed", mail: page + again("<a href=x>", 5000) + "end", reason: formatting, text: "end"},
		{name: "half a million elements in each other", mail: page + again("<div>", 500_000) + "end", text: "end"},
		{name: "tables in tables", mail: page + again("<table><tr><td>", 50_000) + "end", text: "end"},
		{name: "text moved out of tables", mail: page + "<table>" + again("x<tr>", 50_000), text: "x\nx"},
		{name: "a tag without end", mail: page + "<p>text<a " + again("x", 2_000_000), text: "text"},
		{name: "a hundred thousand attributes", mail: page + "<p " + each(100_000, "a%d=1 ") + ">text", text: "text"},
		{name: "a comment without end", mail: page + "<p>text<!--" + again("-", 1_000_000), text: "text"},
		{name: "a script without end", mail: page + "<p>text<script>" + again("<!--<script>", 100_000), text: "text"},
		{name: "entities", mail: page + "<p>text" + again("&amp;&#x110000;&bogus;&#0;", 50_000), text: "text&"},
		{name: "select in select", mail: page + again("<select><option>", 50_000) + "text", text: "text"},
		{name: "a picture in the text", mail: page + "text <img alt=cat src=\"data:image/png;base64," +
			again("A", 3_000_000) + "\">", text: "text cat"},
		{name: "only blanks", mail: page + again("<p> <br> ", 100_000) + "text", text: "text"},
		{name: "100,000 charsets", mail: from + "Content-Type: text/html\r\n\r\n" + again("<meta charset=a>\n",
			100_000) + "text", text: "text"},
	}
}

func hostileParts() []hostile {
	const deep, header = "nested more than 32 deep", "a header of one of its parts has more than 16384 bytes"
	const noBoundary = "unable to locate boundary"
	multipart := func(boundary, body string) string {
		return from + "Content-Type: multipart/mixed; boundary=" + boundary + "\r\n\r\n" + body
	}
	return []hostile{
		{name: "200,000 parts", mail: multipart("B", again("--B\r\n\r\nx\r\n", 200_000)),
			reason: "more than 1000 parts", text: "--B"},
		{name: "200,000 parts that only a generous reader finds",
			mail: multipart("B", again("x--B \r\n\r\nx\r\n", 200_000)), reason: "of processor time"},
		{name: "190 multiparts in each other", mail: nested(190, "mixed", plain+again("text\r\n", 1_000_000)),
			reason: deep, text: "--b0x"},
		{name: "32 multiparts in each other", mail: nested(32, "mixed", text), text: "text"},
		{name: "300 with the same boundary",
			mail: from + again("Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n", 300), reason: deep,
			text: "--x"},
		{name: "5,000 alternatives in each other", mail: nested(5000, "alternative", text), reason: deep,
			text: "--b0x"},
		{name: "parts that are never closed", mail: multipart("B", "--B\r\n"+text), text: "text"},
		{name: "parts that never begin", mail: multipart("B", "text without a boundary\r\n")},
		{name: "no boundary is named", mail: from + "Content-Type: multipart/mixed\r\n\r\n--B\r\n" + text,
			reason: noBoundary, text: "--B"},
		{name: "an empty boundary", mail: multipart(`""`, "--\r\n"+text+"----\r\n"), reason: noBoundary, text: "text"},
		{name: "a boundary of 5,000 bytes", mail: multipart(again("b", 5000), "--"+again("b", 5000)+"\r\n"+text)},
		{name: "a boundary of blanks", mail: multipart(`"   "`, "--   \r\n"+text), text: "text"},
		{name: "closed before it begins", mail: multipart("B", "--B--\r\n--B\r\n"+text)},
		{name: "a boundary that another begins with",
			mail: parted("Content-Type: multipart/mixed; boundary=BB\r\n\r\n--BB\r\n" + text + "--BB--"), text: "text"},
		{name: "a picture that has a boundary", mail: parted("Content-Type: image/png; boundary=C\r\n\r\n--C\r\n" +
			text + "--C--"), text: "text"},
		{name: "text that has a boundary", mail: parted("Content-Type: text/plain; boundary=C\r\n\r\ntext\r\n--C"),
			reason: "Data contains boundary marker", inPart: true, text: "text"},
		{name: "the headers of a part without end", mail: parted(each(300_000, "X-%d: y\r\n") + text),
			reason: "the headers of one of its parts have more than 262144 bytes", text: "X-0"},
		{name: "one header of 20 MB", mail: parted("X: " + again("y", 20<<20) + "\r\n" + text),
			reason: "the headers of one of its parts", text: "X: y"},
		{name: "one header of 200,000 bytes", mail: parted("X: " + again("y", 200_000) + "\r\n" + text), reason: header,
			text: "X: y"},
		{name: "a header folded without end", mail: parted("X: y\r\n" + again(" y\r\n", 20_000) + text), reason: header,
			text: "X: y"},
		{name: "1,000 texts", mail: parted(slices.Repeat([]string{plain + again("text ", 50)}, 1000)...), text: "text"},
		{name: "lines that look like boundaries", mail: parted(text + again("--Bx\r\n-- B\r\n--\r\n", 100_000)),
			text: "text"},
	}
}

func hostileMails() []hostile {
	empty := attached("message/rfc822", "", "Subject: x\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n--C--")
	return []hostile{
		{name: "500 mails in each other", mail: from + again("Content-Type: message/rfc822\r\n\r\n"+from, 500) +
			"\r\ntext\r\n"},
		{name: "a mail of 190 multiparts in a mail",
			mail: parted(text, attached("message/rfc822", "", nested(190, "mixed", text))), text: "text"},
		{name: "900 mails in a mail", mail: parted(append([]string{text}, slices.Repeat([]string{empty}, 900)...)...),
			text: "text"},
		{name: "a mail in a million pieces",
			mail: from + "Content-Type: message/partial; id=a; number=1; total=1000000\r\n\r\ntext\r\n"},
		{name: "a mail that lies elsewhere",
			mail: from + "Content-Type: message/external-body; access-type=local-file; " +
				"name=\"/etc/passwd\"\r\n\r\ntext\r\n"},
		{name: "33 MB", mail: from + "\r\n" + again("text\r\n", 33<<20/6),
			reason: "the mail has more than 33554432 bytes"},
	}
}

func hostileContent() []hostile {
	encoded := func(encoding, content string) string {
		return from + "Content-Transfer-Encoding: " + encoding + "\r\n" + plain + content
	}
	packed := base64.StdEncoding.EncodeToString([]byte(again("\x1f\x8b\x08", 300_000)))
	return []hostile{
		{name: "base64 that is none", mail: encoded("base64", again("!§$%&/()=?", 50_000))},
		{name: "base64 without end", mail: parted(text,
			attached("application/zip", "Content-Transfer-Encoding: base64\r\n", again("A", 5_000_001))),
			reason: "Malformed Base64", inPart: true, text: "text"},
		{name: "a packed attachment", mail: parted(text,
			attached("application/gzip", "Content-Transfer-Encoding: base64\r\n", packed)), text: "text"},
		{name: "quoted-printable that is none", mail: encoded("quoted-printable", "text"+again("=ZZ=\r\n==", 100_000)),
			text: "text"},
		{name: "one soft line of 9 MB", mail: encoded("quoted-printable", "text"+again("=41", 3_000_000)),
			text: "textAAAA"},
		{name: "an encoding that does not exist", mail: encoded("x-gzip64", "text"), text: "text"},
		{name: "uuencoded", mail: encoded("uuencode", "text\r\nbegin 644 ../x\r\n"+again("M"+again("`", 60)+"\r\n",
			50_000)+"end"), text: "text"},
		{name: "winmail.dat", mail: parted(text, attached("application/ms-tnef; name=winmail.dat", "",
			"\x78\x9f\x3e\x22"+again("\x01\xff\xff\xff\x7f", 100_000))), text: "text"},
		{name: "UTF-7", mail: from + "Content-Type: text/html; charset=utf-7\r\n\r\n+ADw-script+AD4-" +
			again("+", 500_000), reason: "cannot be taken apart", text: "+ADw-"},
		{name: "UTF-16 that is said to be UTF-8", mail: from + plain + "\xff\xfe" + again("t\x00e\x00x\x00t\x00 \x00",
			100_000), text: "text text"},
		{name: "a stateful charset that never returns",
			mail: from + "Content-Type: text/plain; charset=iso-2022-jp\r\n\r\ntext\x1b$B" + again("\x1b$B!!", 200_000),
			text: "text"},
		{name: "a charset that the HTML names differently", mail: from + "Content-Type: text/html\r\n\r\n" +
			again("<meta charset=utf-16be>", 20_000)},
		{name: "a charset of 100,000 bytes", mail: from + "Content-Type: text/plain; charset=" + again("x", 100_000) +
			"\r\n\r\ntext", reason: "its header Content-Type has more than 16384 bytes", text: "text"},
		{name: "NUL", mail: from + plain + "text" + again("\x00", 1_000_000), text: "text"},
		{name: "one line of 31 MB", mail: from + plain + "text" + again("x", 31<<20), text: "textxx"},
		{name: "8 MB of line ends", mail: parted(plain + "text" + again("\n", 8<<20)), text: "text"},
		{name: "8 MB of carriage returns", mail: parted(plain + "text" + again("\r", 8<<20)), text: "text"},
		{name: "12 MB of many alphabets", mail: from + plain + again("text жйж 漢字 \xff\xfe", 500_000),
			text: "text жйж 漢字"},
	}
}
