package recording

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// recorded lists the runs of what is kept, the newest first.
func recorded(t *testing.T, s *Store) (runs []string) {
	t.Helper()
	for r, err := range s.Newest("w") {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, string(r.Run))
	}
	return runs
}

func add(s *Store, from, to int) {
	for n := from; n <= to; n++ {
		s.Add("w", Recording{Run: eventlog.RunID(fmt.Sprint(n)),
			Pending: map[string][]sandbox.Event{"t": {{MessageID: "a"}}}})
		if n%100 == 0 {
			s.flush() // no more wait than may
		}
	}
}

// The newest are kept, over restarts and a torn line, and the oldest go.
func TestTheNewestAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep := map[eventlog.WorkflowName]Keep{"w": {Runs: 1200}}
	open := func() *Store {
		s, err := Open(dir, keep, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if s.Records("other") || !s.Records("w") || (*Store)(nil).Records("w") {
		t.Error("it records other workflows than those that are named")
	}
	add(s, 1, 10)
	if got := recorded(t, s); len(got) != 10 || got[0] != "10" || got[9] != "1" {
		t.Errorf("kept: %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(dir, "w", "00000002.jsonl")
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(newest, append(text, `{"run":"torn`...), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	add(s, 11, 2500)
	got := recorded(t, s)
	if len(got) != 1200 || got[0] != "2500" || got[1199] != "1301" {
		t.Errorf("kept: %d, from %s to %s", len(got), got[0], got[len(got)-1])
	}
	left, err := files(filepath.Join(dir, "w"))
	if err != nil || len(left) > 4 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// Bytes bound what is kept too.
func TestBytesBoundWhatIsKept(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), map[eventlog.WorkflowName]Keep{"w": {Bytes: 1}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add(s, 1, 2*maxFileRuns+1)
	if got := recorded(t, s); len(got) != 1 || got[0] != fmt.Sprint(2*maxFileRuns+1) {
		t.Errorf("%d are kept", len(got))
	}
}
