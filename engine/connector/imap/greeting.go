package imap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// maxLine is the most bytes of a greeting, or of a line before a connection is encrypted; maxLines is how many of
	// those come at most.
	maxLine  = 4 << 10
	maxLines = 20
	// startTag is the tag of the command STARTTLS.
	startTag = "S"
)

// greeted reads the greeting of a server, and the library then reads it once more. Where a server ends the connection
// at once, the library alone does not always tell what the server said.
func (s *server) greeted(conn net.Conn) (net.Conn, io.Reader, error) {
	lines := bufio.NewReaderSize(conn, maxLine)
	greeting, err := readLine(lines)
	if err != nil {
		return nil, nil, connector.ClosedBy("the server", err)
	}
	if isWord(greeting, "*", "BYE") {
		return nil, nil, &imap.Error{Type: imap.StatusResponseTypeBye, Text: strings.TrimSpace(greeting[len("* BYE"):])}
	}
	rest, err := lines.Peek(lines.Buffered())
	return conn, io.MultiReader(strings.NewReader(greeting+"\r\n"), bytes.NewReader(rest)), err
}

// startTLS has the server expect an encrypted connection. The library is not told what the server says before: it might
// still believe that afterwards.
func (s *server) startTLS(raw net.Conn) error {
	lines := bufio.NewReaderSize(raw, maxLine)
	greeting, err := readLine(lines)
	if err != nil {
		return err
	}
	if !isWord(greeting, "*", "OK") {
		return s.notEncrypted("it begins with", greeting)
	}
	if _, err := raw.Write([]byte(startTag + " STARTTLS\r\n")); err != nil {
		return err
	}
	for range maxLines {
		answer, err := readLine(lines)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(answer, "* "):
			continue
		case !isWord(answer, startTag, "OK"):
			return s.notEncrypted("to STARTTLS it answers", answer)
		case lines.Buffered() > 0:
			return s.notEncrypted("behind its answer to STARTTLS it says more than", answer)
		}
		return nil
	}
	return errTooMuch
}

// notEncrypted is a server, or one in between, that keeps the connection unencrypted.
func (s *server) notEncrypted(what, said string) error {
	return connector.Failf(eventlog.Transient, "imap.starttls", "the connection to the mail server %s cannot be "+
		"encrypted: %s %q", s.address, what, eventlog.Clip(said, maxSaid))
}

// readLine reads a line without its end.
func readLine(lines *bufio.Reader) (string, error) {
	text, err := lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: a line of more than %d bytes", errTooMuch, maxLine)
	}
	return strings.TrimRight(string(text), "\r\n"), err
}

// isWord says whether a line begins with these two words.
func isWord(line, first, second string) bool {
	tag, rest, _ := strings.Cut(line, " ")
	word, _, _ := strings.Cut(rest, " ")
	return tag == first && strings.EqualFold(word, second)
}
