package node

import "testing"

// TestCaughtUp: that all is done is said only where nothing stands still and no file was refused.
func TestCaughtUp(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][3]int{
		"all caught up: ": {0, 0, 0},
		"caught up but for 1 workflow that needs a person: ":                            {1, 0, 0},
		"caught up but for 1 file that was refused: ":                                   {0, 0, 1},
		"caught up but for 2 workflows that are paused and 3 files that were refused: ": {0, 2, 3},
	} {
		if got := caughtUp(c[0], c[1], c[2]); got != want {
			t.Errorf("%v: %q, not %q", c, got, want)
		}
	}
}
