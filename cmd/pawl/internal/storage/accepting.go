package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// acceptance is what is known to be lost while the loss is being accepted. It is kept, since a repeated command may not
// find all of it any more.
type acceptance struct {
	Lines []string `json:"lines"`
	End   bool     `json:"end"`
}

// add adds what was found. end says that the newest messages may be gone, which no hole in the sequence shows.
func (k *acceptance) add(end bool, lines ...string) {
	k.End = k.End || end
	for _, line := range lines {
		if !slices.Contains(k.Lines, line) {
			k.Lines = append(k.Lines, line)
		}
	}
}

// lossFile is there while a loss of the data directory is being accepted. An engine that started in the middle of
// that would run workflows that must be held.
func lossFile(data string) string { return filepath.Join(data, "loss.accepting") }

// begunAcceptance reads what an interrupted acceptance has noted.
func begunAcceptance(data string) (known acceptance, interrupted bool, err error) {
	content, err := os.ReadFile(lossFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return known, false, nil
	}
	if err != nil {
		return known, false, exit.Failed("", fmt.Errorf("look for an interrupted acceptance: %w", err))
	}
	if err := json.Unmarshal(content, &known); err != nil {
		// An earlier version has noted lines alone, and not whether the end may be gone.
		known = acceptance{End: true}
		if len(content) > 0 {
			known.Lines = strings.Split(string(content), "\n")
		}
	}
	return known, true, nil
}

// noteAcceptance writes down what is known, for a repeated command.
func noteAcceptance(data string, known acceptance) error {
	content, err := json.Marshal(known)
	if err == nil {
		err = durable.WriteFile(lossFile(data), content)
	}
	if err != nil {
		return exit.Failed("", fmt.Errorf("write down what is lost: %w", err))
	}
	return nil
}

// trust answers the broker's question: may it use stream metadata that may not be the last that was written? A person
// has to consent (accepts), and the consent is written down before the metadata is used.
func trust(data string, accepts bool) func(stream, takes string) (bool, error) {
	return func(stream, takes string) (bool, error) {
		if !accepts {
			return false, nil
		}
		known, _, err := begunAcceptance(data)
		if err != nil {
			return false, err
		}
		known.add(true, fmt.Sprintf("stream %s: %s", stream, takes))
		return true, noteAcceptance(data, known)
	}
}
