package explain

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine"
)

// TestDamagedStaysHeld: accepting the loss does not end the hold; why says what does.
func TestDamagedStaysHeld(t *testing.T) {
	message := Damaged("shop", &engine.DamagedPast{Err: errors.New("a record cannot be read")}).Message
	if !strings.Contains(message, "stays held (loss) until") || !strings.Contains(message, "pawl resume shop") {
		t.Errorf("got %q", message)
	}
}
