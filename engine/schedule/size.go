package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// Size is a number of bytes. As text it is a whole number with a unit, "128MiB", or none: "4096".
type Size int64

// The units of a Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// sizeUnits, the largest first: the order in which String tries them.
var sizeUnits = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}}

// String renders the size in the largest unit that divides it.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if s != 0 && s%unit.size == 0 {
			return strconv.FormatInt(int64(s/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText implements [encoding.TextMarshaler] with String's form.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] for configuration, environment and flags.
// Decimal units (MB) are refused rather than guessed at.
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := strings.TrimSpace(string(text)), Size(1)
	for _, u := range sizeUnits {
		if number, ok := strings.CutSuffix(digits, u.name); ok {
			digits, unit = strings.TrimSpace(number), u.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("size %q is not a number of bytes; write e.g. 128MiB, 256KiB or 4096", eventlog.ClipName(text))
	}
	if n > math.MaxInt64/int64(unit) {
		return fmt.Errorf("size %q is too large", eventlog.ClipName(text))
	}
	*s = Size(n) * unit
	return nil
}
