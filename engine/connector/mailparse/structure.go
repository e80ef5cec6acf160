package mailparse

import (
	"bytes"
	"fmt"
	"net/textproto"

	"github.com/jhillyerd/enmime/v2/mediatype"
)

// structure follows how the parts of a mail are nested, line by line, before the mail is taken apart: what
// exceeds a limit costs one pass over it and has a reason that names the limit.
type structure struct {
	// open are the boundaries of the multiparts that the current line is in, the innermost last.
	open  []string
	parts int
	// header is the length of the part's headers so far, -1 outside of headers; field that of the current one.
	header, field int
	// contentType is what the part's Content-Type header says so far, nil before it.
	contentType []byte
	// folded: the next line may continue that header.
	folded bool
}

// excess says which limit a mail exceeds, given its headers and what follows them; empty if it is within
// all of them.
func excess(header textproto.MIMEHeader, body []byte) string {
	for _, name := range []string{"Content-Type", "Content-Disposition", "Content-Transfer-Encoding", "Content-Id"} {
		if len(header.Get(name)) > maxPartField {
			return fmt.Sprintf("its header %s has more than %d bytes", name, maxPartField)
		}
	}
	s := structure{header: -1}
	if reason := s.enter([]byte(header.Get("Content-Type"))); reason != "" {
		return reason
	}
	for len(body) > 0 && len(s.open) > 0 {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		body = rest
		if reason := s.line(bytes.TrimRight(line, "\r")); reason != "" {
			return reason
		}
	}
	return ""
}

func (s *structure) line(line []byte) string {
	if bytes.HasPrefix(line, []byte("--")) && s.boundary(line[2:]) {
		if s.parts > maxParts {
			return fmt.Sprintf("the mail has more than %d parts", maxParts)
		}
		return ""
	}
	if s.header < 0 {
		return ""
	}
	if len(line) == 0 {
		contentType := s.contentType
		s.header, s.contentType, s.folded = -1, nil, false
		return s.enter(contentType)
	}
	if s.header += len(line) + 1; s.header > maxPartHeader {
		return fmt.Sprintf("the headers of one of its parts have more than %d bytes", maxPartHeader)
	}
	if line[0] == ' ' || line[0] == '\t' {
		s.field += len(line)
		if s.folded {
			s.contentType = append(append(s.contentType, ' '), bytes.TrimSpace(line)...)
		}
	} else {
		s.field = len(line)
		name, value, ok := bytes.Cut(line, []byte(":"))
		s.folded = ok && s.contentType == nil && bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Type"))
		if s.folded {
			s.contentType = append([]byte{}, bytes.TrimSpace(value)...)
		}
	}
	if s.field > maxPartField {
		return fmt.Sprintf("a header of one of its parts has more than %d bytes", maxPartField)
	}
	return ""
}

// boundary reports whether text behind two hyphens ends a part, and begins the next one if it does.
func (s *structure) boundary(text []byte) bool {
	for i := len(s.open) - 1; i >= 0; i-- {
		rest, ok := bytes.CutPrefix(text, []byte(s.open[i]))
		switch {
		case !ok:
			continue
		case bytes.HasPrefix(rest, []byte("--")):
			s.open, s.header = s.open[:i], -1
			return true
		case len(bytes.TrimSpace(rest)) == 0:
			s.open, s.header, s.contentType, s.folded = s.open[:i+1], 0, nil, false
			s.parts++
			return true
		}
	}
	return false
}

// enter goes into a part with this Content-Type if that has parts of its own.
func (s *structure) enter(contentType []byte) string {
	kind, params, _, err := mediatype.Parse(string(contentType))
	boundary := params["boundary"]
	if err != nil || boundary == "" || kind == "text/plain" || kind == "text/html" {
		return ""
	}
	if len(s.open) == maxDepth {
		return fmt.Sprintf("its parts are nested more than %d deep", maxDepth)
	}
	s.open = append(s.open, boundary)
	return ""
}
