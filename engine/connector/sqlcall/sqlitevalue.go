package sqlcall

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// sqliteValue is a value of a result in JSON.
func (t *table) sqliteValue(value any, column string) (json.RawMessage, error) {
	switch v := value.(type) {
	case nil:
		return jsonNull, nil
	case int64:
		return integer(v), nil
	case float64:
		return float(v), nil
	case string:
		if len(v) > connector.MaxResult {
			return nil, tooBig()
		}
		return t.string(v), nil
	case []byte:
		if len(v) > connector.MaxResult {
			return nil, tooBig()
		}
		return t.bytes(v), nil
	case time.Time:
		return t.string(sqliteTime(v, column)), nil
	}
	return nil, connector.Failf(eventlog.Internal, "sql.value", "the driver has a value of the type %T", value)
}

// sqliteTime writes a time as SQLite's own functions do. The driver reads one from each text that is a time in a
// column declared as DATE, DATETIME or TIMESTAMP.
func sqliteTime(at time.Time, column string) string {
	layout := "2006-01-02 15:04:05.999999999"
	if column == "DATE" && at.Equal(at.Truncate(24*time.Hour)) {
		layout = time.DateOnly
	}
	if _, offset := at.Zone(); offset != 0 {
		layout += "-07:00"
	}
	return at.Format(layout)
}

// sqliteArgument is an argument as the driver takes it.
func sqliteArgument(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("%s is too big a number", v)
		}
		return f, nil
	case document:
		return string(v), nil
	case list:
		return v.text, nil
	}
	return value, nil
}
