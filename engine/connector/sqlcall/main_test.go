package sqlcall_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No call leaves a statement running behind it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
