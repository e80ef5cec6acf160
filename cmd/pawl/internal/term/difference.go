package term

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
)

// maxShownPart bounds how much of a value that differs is shown.
const maxShownPart = 300

// Difference shows one part in which two values differ; before and after say what either is.
func Difference(d difference.Difference, before, after string) string {
	path := d.Path
	if path == "" {
		path = "the whole"
	}
	switch {
	case d.Before == nil:
		return fmt.Sprintf("%s: %s %s, %s nothing", path, after, eventlog.Clip(d.After, maxShownPart), before)
	case d.After == nil:
		return fmt.Sprintf("%s: %s nothing, %s %s", path, after, before, eventlog.Clip(d.Before, maxShownPart))
	}
	return fmt.Sprintf("%s: %s %s, %s %s", path, after, eventlog.Clip(d.After, maxShownPart), before,
		eventlog.Clip(d.Before, maxShownPart))
}
