package runlog_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/runlog"
)

func TestLinesByRun(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t))
	s, err := runlog.Open(t.Context(), nc, runlog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.Write("orders", "run1", []runlog.Line{{At: at, Level: "info", Text: "one"}, {At: at, Level: "warn", Text: "two"}})
	s.Write("orders", "run2", []runlog.Line{{At: at, Level: "info", Text: "other"}})
	s.Write("orders", "run1", []runlog.Line{{At: at, Level: "info", Text: "three"}})
	s.Write("orders", "run1", nil)
	lines, err := s.Read(t.Context(), "orders", "run1")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || lines[0].Text != "one" || lines[1].Level != "warn" || lines[2].Text != "three" ||
		!lines[2].At.Equal(at) {
		t.Fatalf("lines %+v", lines)
	}
	if none, err := s.Read(t.Context(), "orders", "nobody"); err != nil || len(none) != 0 {
		t.Fatalf("lines of an unknown run: %v %v", none, err)
	}
	// The same stream is found again, and a full broker loses lines without failing a caller.
	again, err := runlog.Open(t.Context(), nc, runlog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := again.Read(t.Context(), "orders", "run2"); err != nil || len(lines) != 1 {
		t.Fatalf("after opening again: %v %v", lines, err)
	}
	nc.Close()
	again.Write("orders", "run3", []runlog.Line{{At: at, Text: "lost"}})
	if again.Lost() == 0 {
		t.Fatal("a line that no broker took is not counted")
	}
}
