package sqlcall

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// elementOf is the type of the elements of an array, by the type of the array.
var elementOf = map[uint32]uint32{
	pgtype.BoolArrayOID: pgtype.BoolOID, pgtype.ByteaArrayOID: pgtype.ByteaOID, pgtype.Int2ArrayOID: pgtype.Int2OID,
	pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.Float4ArrayOID: pgtype.Float4OID,
	pgtype.Float8ArrayOID: pgtype.Float8OID, pgtype.NumericArrayOID: pgtype.NumericOID,
	pgtype.TextArrayOID: pgtype.TextOID, pgtype.VarcharArrayOID: pgtype.VarcharOID,
	pgtype.BPCharArrayOID: pgtype.BPCharOID,
	pgtype.NameArrayOID:   pgtype.NameOID, pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.JSONArrayOID: pgtype.JSONOID,
	pgtype.JSONBArrayOID: pgtype.JSONBOID, pgtype.DateArrayOID: pgtype.DateOID, pgtype.TimeArrayOID: pgtype.TimeOID,
	pgtype.TimestampArrayOID: pgtype.TimestampOID, pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID,
	pgtype.IntervalArrayOID: pgtype.IntervalOID, pgtype.InetArrayOID: pgtype.InetOID, pgtype.OIDArrayOID: pgtype.OIDOID,
}

// postgresValue is a value of a result in JSON. The server has written it as text; nil is NULL.
func (t *table) postgresValue(value []byte, of uint32) json.RawMessage {
	if value == nil {
		return jsonNull
	}
	text := string(value)
	switch of {
	case pgtype.BoolOID:
		return json.RawMessage(strconv.FormatBool(text == "t"))
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return integer(n)
		}
	case pgtype.Float4OID, pgtype.Float8OID:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return float(f)
		}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return t.document(text)
	case pgtype.ByteaOID:
		if digits, isHex := strings.CutPrefix(text, `\x`); isHex {
			if b, err := hex.DecodeString(digits); err == nil {
				return t.bytes(b)
			}
		}
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return t.string(isoTime(text))
	}
	if element, isArray := elementOf[of]; isArray {
		if array, rest, err := t.postgresArray(text, element); err == nil && rest == "" {
			return array
		}
	}
	return t.string(text)
}

// isoTime writes a time of the server as RFC 3339 does. What has no such form, such as infinity, stays.
func isoTime(text string) string {
	day, clock, ok := strings.Cut(text, " ")
	if !ok || strings.Contains(clock, " ") { // 0044-03-15 00:00:00 BC
		return text
	}
	switch at := strings.LastIndexAny(clock, "+-"); {
	case at < 0:
	case clock[at:] == "+00":
		clock = clock[:at] + "Z"
	case len(clock[at:]) == len("+02"):
		clock += ":00"
	}
	return day + "T" + clock
}

var errArray = errors.New("no array as the server writes it")

// postgresArray reads an array from the text that it begins, and returns the rest.
func (t *table) postgresArray(text string, element uint32) (array json.RawMessage, rest string, err error) {
	if strings.HasPrefix(text, "[") { // the bounds, where they do not begin at 1
		if _, text, _ = strings.Cut(text, "="); text == "" {
			return nil, "", errArray
		}
	}
	if !strings.HasPrefix(text, "{") {
		return nil, "", errArray
	}
	array, text = json.RawMessage("["), text[1:]
	for first := true; !strings.HasPrefix(text, "}"); first = false {
		if !first {
			if !strings.HasPrefix(text, ",") {
				return nil, "", errArray
			}
			array, text = append(array, ','), text[1:]
		}
		var value json.RawMessage
		switch {
		case strings.HasPrefix(text, "{"):
			value, text, err = t.postgresArray(text, element)
		case strings.HasPrefix(text, `"`):
			var plain []byte
			if plain, text, err = unquoted(text[1:]); err == nil {
				value = t.postgresValue(plain, element)
			}
		default:
			end := strings.IndexAny(text, ",}")
			if end <= 0 {
				return nil, "", errArray
			}
			if value = jsonNull; text[:end] != "NULL" {
				value = t.postgresValue([]byte(text[:end]), element)
			}
			text = text[end:]
		}
		if err != nil {
			return nil, "", err
		}
		array = append(array, value...)
	}
	return append(array, ']'), text[1:], nil
}

// unquoted reads up to the closing quotation mark. It never returns nil, which would be NULL.
func unquoted(text string) (value []byte, rest string, err error) {
	value = []byte{}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return value, text[i+1:], nil
		case '\\':
			if i++; i == len(text) {
				return nil, "", errArray
			}
		}
		value = append(value, text[i])
	}
	return nil, "", errArray
}

// postgresText is an argument as the server reads it, for a placeholder of the type; 0 is not known. nil is NULL.
func postgresText(value any, of uint32) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case []byte:
		return []byte(`\x` + hex.EncodeToString(v)), nil
	case document:
		return []byte(v), nil
	case list:
		if _, isArray := elementOf[of]; !isArray {
			return []byte(v.text), nil
		}
		var out strings.Builder
		err := writeArray(&out, v.elements)
		return []byte(out.String()), err
	}
	return fmt.Append(nil, value), nil // a number as it was written, or true or false
}

// writeArray writes an array as the server reads it.
func writeArray(out *strings.Builder, values []any) error {
	out.WriteByte('{')
	for i, value := range values {
		if i > 0 {
			out.WriteByte(',')
		}
		switch v := value.(type) {
		case nil:
			out.WriteString("NULL")
			continue
		case []any:
			if err := writeArray(out, v); err != nil {
				return err
			}
			continue
		case map[string]any:
			bytes, isBytes, failure := bytesOf(v)
			if failure != nil {
				return errors.New(failure.Message)
			}
			value = bytes
			if !isBytes {
				text, err := json.Marshal(v)
				if err != nil {
					return err
				}
				value = document(text)
			}
		}
		text, err := postgresText(value, 0)
		if err != nil {
			return err
		}
		out.WriteByte('"')
		out.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(text)))
		out.WriteByte('"')
	}
	out.WriteByte('}')
	return nil
}
