package act

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// documents reads JSON documents, one after the other, and knows on which line each begins.
type documents struct {
	decoder *json.Decoder
	n       int
	// ahead is the text that was read behind the last document, whose end is at this offset, on this line.
	ahead bytes.Buffer
	end   int64
	line  int
}

func newDocuments(from io.Reader) *documents {
	d := &documents{line: 1}
	d.decoder = json.NewDecoder(io.TeeReader(bufio.NewReader(from), &d.ahead))
	return d
}

// documentPlace is the place of a document: the n-th, which begins on that line.
type documentPlace struct{ n, line int }

// String names the document for a person.
func (p documentPlace) String() string {
	if p.n == p.line {
		return fmt.Sprintf("document %d", p.n) // each line has one document
	}
	return fmt.Sprintf("document %d (line %d)", p.n, p.line)
}

// next reads the next document; io.EOF means that there is none.
func (d *documents) next() (document json.RawMessage, at documentPlace, err error) {
	err = d.decoder.Decode(&document)
	d.n++
	blank := d.ahead.Len() - len(bytes.TrimLeft(d.ahead.Bytes(), " \t\r\n"))
	at = documentPlace{d.n, d.line + bytes.Count(d.ahead.Bytes()[:blank], []byte("\n"))}
	if err == nil {
		end := d.decoder.InputOffset()
		d.line += bytes.Count(d.ahead.Next(int(end-d.end)), []byte("\n"))
		d.end = end
	}
	return document, at, err
}
