package eventlog

import (
	"encoding/json"
	"fmt"
	"time"
)

// Instant is a wall-clock time in microseconds since the Unix epoch, in UTC. Zero means "none".
// It is a plain number so that facts and folds compare and encode the same everywhere.
type Instant int64

// At turns a time into an Instant; the zero time becomes zero.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// Time returns the instant as a UTC time; zero becomes the zero time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// Sub returns how long after j the instant is.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Microsecond }

// String renders RFC 3339 with up to microseconds, or "none".
func (i Instant) String() string {
	if i == 0 {
		return "none"
	}
	return i.Time().Format(time.RFC3339Nano)
}

// MarshalJSON renders an RFC 3339 string, or null for zero. It never fails.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + i.Time().Format(time.RFC3339Nano) + `"`), nil
}

// UnmarshalJSON reads what MarshalJSON writes. It fails on what is neither null nor an RFC 3339 string.
func (i *Instant) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*i = 0
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read time: %w", err)
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("read time: %w", err)
	}
	*i = At(t)
	return nil
}
