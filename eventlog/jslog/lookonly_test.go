package jslog_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// TestLookOnlyLeavesTheMark: the log holds more than the mark says was acknowledged. A reader that only looks does not
// vouch for it.
func TestLookOnlyLeavesTheMark(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(3, 10)
	older, err := os.ReadFile(s.mark)
	if err != nil {
		t.Fatal(err)
	}
	s.fill(3, 10)
	if err := os.WriteFile(s.mark, older, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, looks := range []bool{true, false} {
		server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
		cfg := jslog.Config{Mark: s.mark, KeepMark: true, LookOnly: looks}
		l := mustOpen(t, natstest.Connect(t, server), cfg)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		server.Shutdown()
		if now, err := os.ReadFile(s.mark); err != nil || bytes.Equal(now, older) != looks {
			t.Errorf("look only %t: the mark is as it was: %t, %v", looks, bytes.Equal(now, older), err)
		}
	}
}
