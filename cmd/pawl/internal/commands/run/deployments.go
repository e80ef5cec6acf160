package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// deploymentsFile, in the data directory, remembers what `up` has deployed from which file. If it is lost, unchanged
// files are deployed again, which changes nothing.
const deploymentsFile = "up.json"

// deployments remembers for each absolute path the hash of the bytes that were last deployed from it. So the next start
// does not undo a repair that was made meanwhile.
type deployments struct {
	path  string
	Files map[string]deployment `json:"files"`
}

type deployment struct {
	SHA256   string                `json:"sha256"`
	Workflow eventlog.WorkflowName `json:"workflow"`
}

func loadDeployments(data string) (*deployments, error) {
	d := &deployments{path: filepath.Join(data, deploymentsFile), Files: map[string]deployment{}}
	text, err := os.ReadFile(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case err != nil:
		return nil, exit.Failed("", fmt.Errorf("read what was deployed before: %w", err))
	}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, exit.Failed("delete it: all files are then deployed again, which changes nothing for those "+
			"that run already",
			fmt.Errorf("read what was deployed before from %s: %w", d.path, err))
	}
	if d.Files == nil {
		d.Files = map[string]deployment{}
	}
	return d, nil
}

// remember notes a deploy. It is written at once: after a crash the next start must not treat the file as changed.
func (d *deployments) remember(path string, made deployment) error {
	if d.Files[path] == made {
		return nil
	}
	d.Files[path] = made
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("remember the deploy of %s: %w", path, err)
	}
	if err := durable.WriteFile(d.path, append(text, '\n')); err != nil {
		return fmt.Errorf("remember the deploy of %s: %w", path, err)
	}
	return nil
}

func hashOf(source []byte) string {
	sum := sha256.Sum256(source)
	return hex.EncodeToString(sum[:])
}
