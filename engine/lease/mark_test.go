package lease

import (
	"testing"
	"time"
)

// The mark of one log only rises; that of another log replaces it; an engine without the lease changes nothing.
func TestAMarkOnlyRises(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(e *engines) {
		a := e.start("a")
		e.pass(time.Second)
		l := a.held[0]
		for _, c := range []struct {
			raise Mark
			want  uint64
			log   string
		}{
			{Mark{Log: "x", Seq: 5, Hash: "05"}, 5, "x"},
			{Mark{Log: "x", Seq: 3, Hash: "03"}, 5, "x"},
			{Mark{Log: "x", Seq: 7, Hash: "07"}, 7, "x"},
			{Mark{Log: "y", Seq: 2, Hash: "02"}, 2, "y"},
		} {
			if err := l.RaiseMark(e.t.Context(), c.raise); err != nil {
				e.t.Fatal(err)
			}
			if got, err := a.Mark(e.t.Context(), 0); err != nil || got.Seq != c.want || got.Log != c.log || got.Node != "a" {
				e.t.Errorf("after %+v the mark is %+v (%v)", c.raise, got, err)
			}
		}
		l.lose(errLost)
		if err := l.RaiseMark(e.t.Context(), Mark{Log: "y", Seq: 9}); err != nil {
			e.t.Fatal(err)
		}
		if got, err := a.Mark(e.t.Context(), 0); err != nil || got.Seq != 2 {
			e.t.Errorf("an engine without the lease has raised the mark to %+v (%v)", got, err)
		}
	})
}
