package maildir_test

import "strings"

func hostileHeaders() []hostile {
	const unreadable = "its headers cannot be read"
	return []hostile{
		{name: "300,000 headers", mail: from + each(300_000, "X-%d: y\r\n") + "\r\ntext\r\n", text: "text"},
		{name: "a header of 8 MB", mail: from + "X: " + again("x", 8<<20) + "\r\n\r\ntext\r\n"},
		{name: "a header folded half a million times", mail: from + again(" x\r\n", 500_000) + "\r\ntext\r\n",
			text: "text"},
		{name: "one line of 30 MB and nothing else", mail: again("x", 30<<20), reason: unreadable},
		{name: "no colon anywhere", mail: again("this is no header\r\n", 10_000), reason: unreadable},
		{name: "a line that begins with a colon", mail: from + ": x\r\n\r\ntext\r\n", reason: "Malformed Header",
			inPart: true, text: "text"},
		{name: "a name with blanks and bytes", mail: from + "X\x00\x01 Y: z\r\n\r\ntext\r\n",
			reason: "Malformed Header", inPart: true, text: "text"},
		{name: "the first line is folded", mail: " folded\r\n" + from + "\r\ntext\r\n", reason: unreadable,
			text: "text"},
		{name: "the same headers again", mail: from + "Subject: other\r\nFrom: b@example.com\r\nDate: x\r\n" + from +
			"\r\ntext\r\n", text: "text"},
		{name: "8 bits", mail: "From: J\xf6rg <j@example.com>\r\nSubject: hi \xff\xfe\r\n\r\ntext\r\n", text: "text"},
		{name: "NUL in a header", mail: from + "X: hi\x00there\r\n\r\ntext\r\n", text: "text"},
		{name: "carriage returns alone", mail: strings.ReplaceAll(from+"\r\ntext\r\n", "\r\n", "\r")},
		{name: "no headers", mail: "\r\ntext\r\n", reason: "none of the headers of a mail", text: "text"},
		{name: "escapes of a terminal", mail: "Subject: \x1b]0;owned\x07\x1b[2J hi\r\n\r\ntext\r\n", text: "text"},
		{name: "text from right to left", mail: "Subject: \u202etxt.exe\u202c hi\r\n\r\ntext\r\n", text: "text"},
		{name: "a header in an encoded word", mail: "Subject: =?utf-8?Q?hi=0D=0ABcc:_x@example.com?=\r\n\r\ntext\r\n",
			text: "text"},
		{name: "nothing", mail: "", reason: "none of the headers of a mail"},
	}
}

func hostileWords() []hostile {
	subject := func(words string) string { return "From: e@example.com\r\nSubject: hi " + words + "\r\n\r\ntext\r\n" }
	return []hostile{
		{name: "100,000 encoded words", mail: subject(again("=?utf-8?Q?x?= ", 100_000)), text: "text"},
		{name: "encoded words that never end", mail: subject(again("=?utf-8?Q?", 20_000)), text: "text"},
		{name: "encoded words in each other", mail: subject(again("=?utf-8?Q?=3D=3Futf-8=3FQ=3F", 2000) +
			again("?=", 2000)), text: "text"},
		{name: "charsets that do not exist", mail: subject(again("=?x-none?B?////?= ", 1000)), text: "text"},
		{name: "encoded words in a file name", mail: parted("Content-Type: text/plain; name=\"" +
			again("=?utf-8?B?eA==?= ", 900) + "\"\r\n\r\ntext"), text: "text"},
	}
}

func hostileFields() []hostile {
	head := func(headers string) string { return "Subject: hi\r\n" + headers + "\r\n\r\ntext\r\n" }
	typed := func(parameters string) string {
		return parted("Content-Type: text/plain; " + parameters + "\r\n\r\ntext")
	}
	const long = "a header of one of its parts has more than 16384 bytes"
	return []hostile{
		{name: "20,000 addresses", mail: head("To: " + each(20_000, "a%d@example.com,") + "z@example.com"),
			text: "text"},
		{name: "comments in comments", mail: head("From: " + again("(", 50_000) + "e@example.com"), text: "text"},
		{name: "quotes without end", mail: head("From: \"" + again("\\\"", 50_000) + " <e@example.com>"), text: "text"},
		{name: "groups in groups", mail: head("To: " + again("g:", 50_000) + ";"), text: "text"},
		{name: "routes", mail: head("From: <" + again("@a,", 50_000) + ":e@example.com>"), text: "text"},
		{name: "commas", mail: head("To: " + again(",", 150_000)), text: "text"},
		{name: "a date out of range", mail: head("Date: Mon, 99 Foo 99999 99:99:99 +9999"), text: "text"},
		{name: "a year of five digits", mail: head("Date: Mon, 6 Jan 99999 10:00:00 +0000"), text: "text"},
		{name: "a date of a megabyte", mail: head("Date: " + again("Mon, ", 200_000)), text: "text"},
		{name: "a date with comments in comments", mail: head("Date: Tue, 6 Jan 2026 10:00:00 +0100 " +
			again("(", 100_000)), text: "text"},
		{name: "a parameter in 500 pieces", mail: typed(each(500, "\r\n name*%d=x;")), text: "text"},
		{name: "a parameter in 20,000 pieces", mail: typed(each(20_000, "\r\n name*%d=x;")), reason: long},
		{name: "a parameter 300 times", mail: typed(again("name=x; ", 300)), text: "text"},
		{name: "quotes in quotes", mail: typed("name=\"" + again("\"", 3000) + "\""), text: "text"},
		{name: "100,000 parameters of the mail", mail: head("Content-Type: text/plain; " + again("a=b; ", 100_000)),
			reason: "its header Content-Type has more", text: "text"},
		{name: "20,000 parameters of a disposition", mail: parted("Content-Disposition: attachment; " +
			each(20_000, "a%d=b; ") + "\r\n" + text), reason: long},
		{name: "20,000 parameters of the mail's disposition", mail: head("Content-Disposition: inline; " +
			each(20_000, "a%d=b; ")), reason: "its header Content-Disposition has more", text: "text"},
		{name: "a file name out of the folder",
			mail: parted(text, attached("application/zip; name=\"../../etc/cron.d/x.zip\"",
				"Content-Disposition: attachment; filename=\"../../../root/.ssh/authorized_keys\"\r\n", "PK\x03\x04")),
			text: "text"},
		{name: "a file name with NUL and line ends",
			mail: parted(text, attached("application/pdf",
				"Content-Disposition: attachment; filename*=utf-8''a%00b%0D%0Ac\r\n", "x")), text: "text"},
		{name: "a file name of 15,000 bytes",
			mail: parted(text, attached("application/pdf", "Content-Disposition: attachment; filename=\""+
				again("n", 15_000)+"\"\r\n", "x")), text: "text"},
		{name: "a type of 200,000 bytes", mail: parted(attached("application/"+again("n", 200_000), "", "x")),
			reason: long},
	}
}
