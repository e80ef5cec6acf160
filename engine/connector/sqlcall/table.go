package sqlcall

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// codeRows is the failure of a call that would return more rows than the configuration lets it.
const codeRows = "limit.rows"

// budget is what a call may still return: the rows of all of its statements count.
type budget struct {
	database string
	rows     int // the limit
	used     int
	bytes    int
}

// table is what one statement returns, as a list of objects in JSON. It refuses what goes beyond the budget.
type table struct {
	budget *budget
	redact *redact.Redactor
	keys   [][]byte // the names of the columns as the keys of objects
	text   bytes.Buffer
	rows   int
}

// columns names the columns; each row has so many values.
func (t *table) columns(names []string) *eventlog.Failure {
	t.keys = make([][]byte, len(names))
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if seen[name] {
			return refuse("columns", "two columns of the result have the name %s: give one of them another name with AS",
				eventlog.ClipName(name))
		}
		seen[name] = true
		t.keys[i] = append(inText(t.redact.Text(name)), ':')
	}
	return nil
}

// add adds a row of values in JSON.
func (t *table) add(values []json.RawMessage) *eventlog.Failure {
	if t.budget.used == t.budget.rows {
		return connector.Failf(eventlog.Logic, codeRows, "the result has more than %d rows, which is the limit of the "+
			"database %s (%s.%s.rows): ask for less at once, e.g. with LIMIT", t.budget.rows, t.budget.database, databasesKey,
			t.budget.database)
	}
	before := t.text.Len()
	separator := byte('[')
	if t.rows > 0 {
		separator = ','
	}
	t.text.WriteByte(separator)
	for i, value := range values {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		t.text.WriteByte(separator)
		t.text.Write(t.keys[i])
		t.text.Write(value)
		if t.budget.bytes+t.text.Len()-before > connector.MaxResult {
			return tooBig()
		}
	}
	if len(values) == 0 {
		t.text.WriteByte('{')
	}
	t.text.WriteByte('}')
	t.rows++
	t.budget.used++
	t.budget.bytes += t.text.Len() - before
	return nil
}

func tooBig() *eventlog.Failure {
	return connector.Failf(eventlog.Logic, connector.CodeReadLimit, "the result has more than %d bytes, which is the "+
		"limit: ask for less at once, with fewer columns or rows", connector.MaxResult)
}

// json is the list of all rows.
func (t *table) json() json.RawMessage {
	if t.rows == 0 {
		return json.RawMessage("[]")
	}
	return append(bytes.Clone(t.text.Bytes()), ']')
}

// inText is a text in JSON.
func inText(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // a string always marshals
	}
	return out
}

// string is a text without the secrets of the configuration, in JSON.
func (t *table) string(text string) json.RawMessage { return inText(t.redact.Text(text)) }

// bytes are bytes in JSON: as base64.
func (t *table) bytes(value []byte) json.RawMessage {
	return t.string(base64.StdEncoding.EncodeToString(value))
}

// document is a value that is JSON already.
func (t *table) document(text string) json.RawMessage {
	if blanked := t.redact.Text(text); blanked != text || !json.Valid([]byte(text)) {
		return t.string(text) // with a blank in it, it may be no JSON any more
	}
	return json.RawMessage(text)
}

// integer is a number, or a text where JavaScript has no such number.
func integer(n int64) json.RawMessage {
	const largest = 1<<53 - 1
	text := strconv.AppendInt(nil, n, 10)
	if n < -largest || n > largest {
		return fmt.Appendf(nil, "%q", text)
	}
	return text
}

// float is a number, or the name of what is no number.
func float(f float64) json.RawMessage {
	switch {
	case math.IsNaN(f):
		return json.RawMessage(`"NaN"`)
	case math.IsInf(f, 1):
		return json.RawMessage(`"Infinity"`)
	case math.IsInf(f, -1):
		return json.RawMessage(`"-Infinity"`)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return jsonNull // all others marshal
	}
	return text
}

var jsonNull = json.RawMessage("null")
