package term

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// None is shown where there is no value.
const None = "-"

// At is the value at a path with dots; nil where there is none.
func At(value any, path string) any {
	for field := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[field]
	}
	return value
}

// Plain shows a value as one text, - for none.
func Plain(value any) string {
	switch v := value.(type) {
	case nil:
		return None
	case string:
		return cmp.Or(v, None)
	case json.Number:
		return v.String()
	case float64, bool:
		return fmt.Sprint(v)
	default:
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // a terminal is no web page
		if err := encoder.Encode(v); err != nil {
			return "?"
		}
		return text.String()
	}
}

// Int is a whole number of a [Page], 0 for any other value.
func Int(value any) int {
	number, _ := value.(json.Number)
	n, _ := number.Int64() // a text that is no whole number is 0
	return int(n)
}

// MomentLayout is how times are shown: to the second.
const MomentLayout = "2006-01-02 15:04:05"

// Moment shows a time in local time, to the second.
func Moment(value any) string {
	text, ok := value.(string)
	if !ok {
		return None
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.Local().Format(MomentLayout)
}

// Length shows how many elements a list has.
func Length(value any) string {
	list, _ := value.([]any)
	return fmt.Sprint(len(list))
}
