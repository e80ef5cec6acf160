package sqlcall

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// statement is one statement of a script, with the values for its placeholders.
type statement struct {
	text string
	args []any // nil, bool, json.Number, string, []byte, list or document
}

// list is an argument that was an array in JSON: its text and what is in it.
type list struct {
	text     string
	elements []any
}

// document is an argument that was an object in JSON: its text.
type document string

// bytesKey is the only key of an object that stands for bytes.
const bytesKey = "$base64"

func refuse(code, format string, args ...any) *eventlog.Failure {
	return connector.Failf(eventlog.Logic, "sql."+code, format, args...)
}

// newStatement checks a text and its values as far as that can be done without the database.
func newStatement(text string, params []json.RawMessage) (statement, *eventlog.Failure) {
	if strings.ContainsRune(text, 0) {
		return statement{}, refuse("text", "the statement has a NUL character in it")
	}
	s := statement{text: text, args: make([]any, len(params))}
	for i, raw := range params {
		value, failure := argument(raw)
		if failure != nil {
			failure.Message = fmt.Sprintf("params[%d]: %s", i, failure.Message)
			return statement{}, failure
		}
		s.args[i] = value
	}
	return s, nil
}

// argument is a value of JSON as a statement takes it.
func argument(raw json.RawMessage) (any, *eventlog.Failure) {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, refuse("params", "it cannot be read: %v", err)
	}
	switch v := value.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return nil, refuse("params", "it has a NUL character in it, which a text in a database cannot have; "+
				`bytes are written {%q: "…"}`, bytesKey)
		}
	case []any:
		return list{text: string(raw), elements: v}, nil
	case map[string]any:
		bytes, isBytes, failure := bytesOf(v)
		if failure != nil || isBytes {
			return bytes, failure
		}
		return document(raw), nil
	}
	return value, nil
}

// bytesOf is what an object stands for that stands for bytes.
func bytesOf(object map[string]any) (bytes []byte, isBytes bool, failure *eventlog.Failure) {
	encoded, isText := object[bytesKey].(string)
	if len(object) != 1 || !isText {
		return nil, false, nil
	}
	bytes, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, true, refuse("params", "%s is not base64: %v", bytesKey, err)
	}
	return bytes, true, nil
}

// words reads the first words of a statement, in capitals, over spaces and comments. A statement that begins with a
// parenthesis has it as its first word; one that begins with anything else has none.
func words(text string, n int) (first []string) {
	for len(first) < n {
		text = skipSpace(text)
		end := 0
		for end < len(text) && (text[end] == '_' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' ||
			end > 0 && text[end] >= '0' && text[end] <= '9') {
			end++
		}
		if end == 0 {
			if strings.HasPrefix(text, "(") && len(first) == 0 {
				return []string{"("}
			}
			return first
		}
		first = append(first, strings.ToUpper(text[:end]))
		text = text[end:]
	}
	return first
}

// skipSpace skips white space and comments. Comments nest, as in PostgreSQL.
func skipSpace(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\n\r\f\v")
		switch {
		case strings.HasPrefix(text, "--"):
			end := strings.IndexAny(text, "\n\r")
			if end < 0 {
				return ""
			}
			text = text[end:]
		case strings.HasPrefix(text, "/*"):
			depth := 1
			for text = text[2:]; depth > 0 && text != ""; {
				switch {
				case strings.HasPrefix(text, "/*"):
					depth, text = depth+1, text[2:]
				case strings.HasPrefix(text, "*/"):
					depth, text = depth-1, text[2:]
				default:
					text = text[1:]
				}
			}
		default:
			return text
		}
	}
}

// several says whether a text of SQLite holds more than one statement. The statements inside of a trigger are not
// looked at.
func several(text string) bool {
	if first := words(text, 3); len(first) > 1 && first[0] == "CREATE" &&
		(first[1] == "TRIGGER" || len(first) == 3 && first[2] == "TRIGGER") {
		return false
	}
	ended := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(" \t\n\r\f\v", c) >= 0:
		case strings.HasPrefix(text[i:], "--"):
			i += span(text[i:], "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i += 1 + span(text[i+1:], "*/")
		case c == ';':
			ended = true
		case ended:
			return true
		case c == '\'' || c == '"' || c == '`': // a doubled mark ends one text and begins the next
			i += 1 + span(text[i+1:], string(c))
		case c == '[':
			i += span(text[i:], "]")
		}
	}
	return false
}

// span is how far it is to the end of the mark; the rest of the text where there is none.
func span(text, mark string) int {
	if at := strings.Index(text, mark); at >= 0 {
		return at + len(mark) - 1
	}
	return len(text)
}
