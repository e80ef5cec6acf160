package node

import (
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/recording"
)

// openRecordings opens the store of recorded runs; nil where no workflow is recorded. It is closed with the data, after
// the engine has ended.
func (n *Node) openRecordings() (*recording.Store, error) {
	d := n.Data
	if len(d.Settings.Recordings) == 0 {
		return nil, nil
	}
	recordings, err := recording.Open(filepath.Join(d.Settings.Data, "recordings"), d.Settings.Recordings, d.Logger)
	if err != nil {
		return nil, exit.Failed("", err)
	}
	d.Opened.Add(recordings.Close)
	return recordings, nil
}
