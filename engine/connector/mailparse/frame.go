package mailparse

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// What the two processes say to each other is a sequence of frames: a length (32 bits, little-endian) and so
// many bytes. To take a mail apart the engine sends a question, the mail in pieces, and an empty frame; the
// answers are a Head, as soon as the headers are read, and a Mail. Before the first question the process
// says how it is confined. Both ends are the same program, so no version is named.

const (
	// pieceSize is how much of a mail is sent at once.
	pieceSize = 64 << 10
	// maxQuestion bounds a question, maxAnswer an answer: many times what one has.
	maxQuestion = 1 << 20
	maxAnswer   = 4 << 20
)

// question comes before a mail.
type question struct {
	// Whole asks for the mail; without it only its head is answered.
	Whole bool `json:"whole"`
	// HeadersOnly: nothing but its headers is looked at.
	HeadersOnly bool `json:"headersOnly,omitempty"`
	// Headers are those to return besides.
	Headers []string `json:"headers"`
	// Frugal: the process is to hold no more than frugalMemory for it.
	Frugal bool `json:"frugal,omitempty"`
}

// memory is what the process may hold to answer it, in bytes.
func (q question) memory() int64 {
	if q.Frugal {
		return frugalMemory
	}
	return MaxMemory
}

// ready says how the process is confined.
type ready struct {
	Report confine.Report `json:"report"`
}

func writeFrame(w io.Writer, text []byte) error {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	_, err := w.Write(append(frame, text...))
	return err
}

// errProtocol says that the other end sent what is no frame of this protocol.
var errProtocol = errors.New("not an answer")

// readFrame reads one frame of at most limit bytes. io.EOF says that the other end is gone.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(size[:]))
	if n > int64(limit) {
		return nil, fmt.Errorf("%w: a frame has %d bytes, at most %d are allowed", errProtocol, n, limit)
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}

func writeJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write a frame as JSON: %w", err)
	}
	return writeFrame(w, text)
}

func readJSON(r io.Reader, limit int, into any) error {
	text, err := readFrame(r, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: read a frame as JSON: %w", errProtocol, err)
	}
	return nil
}
