package act

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// A rate sends so many events, then waits, and goes on; what is interrupted while it waits sends nothing
// more, and neither does what was refused.
func TestRateSendsInPace(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	events := []jobRef{{"t", "1"}, {"t", "2"}, {"t", "3"}, {"t", "4"}, {"t", "5"}}
	for name, c := range map[string]struct {
		at, pauses, refused int // which pause or send ends in an error, 0 for none
		want                []string
		err                 error
	}{
		"in chunks":             {at: 2, want: []string{"2", "pause", "2", "pause", "1"}},
		"all at once":           {at: 5, want: []string{"5"}},
		"interrupted in a wait": {at: 2, pauses: 2, want: []string{"2", "pause", "2", "pause"}, err: stop},
		"refused":               {at: 2, refused: 2, want: []string{"2", "pause", "2"}, err: stop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var did []string
			pauses, sends := 0, 0
			err := inPace(events, c.at, func() error {
				did = append(did, "pause")
				if pauses++; pauses == c.pauses {
					return stop
				}
				return nil
			}, func(chunk []jobRef) error {
				did = append(did, fmt.Sprint(len(chunk)))
				if sends++; sends == c.refused {
					return stop
				}
				return nil
			})
			if !slices.Equal(did, c.want) || !errors.Is(err, c.err) {
				t.Errorf("did %v (%v), want %v (%v)", did, err, c.want, c.err)
			}
		})
	}
}
