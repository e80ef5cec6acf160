package storage

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
)

// TestBrokerThatCannotBeUsed: what fails once the broker has started is told, and the directory is free again.
func TestBrokerThatCannotBeUsed(t *testing.T) {
	data := t.TempDir()
	inTheWay := filepath.Join(data, datadir.NATSDir, datadir.NATSCaller+".url")
	if err := os.MkdirAll(filepath.Join(inTheWay, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	open := func() error {
		d, err := Open(t.Context(), config.Settings{Data: data}, Parts{}, slog.New(slog.DiscardHandler))
		if err == nil {
			err = d.Close()
		}
		return err
	}
	if err := open(); err == nil || !strings.Contains(err.Error(), inTheWay) {
		t.Errorf("%v, want what stands in the way", err)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := open(); err != nil {
		t.Error(err)
	}
}
