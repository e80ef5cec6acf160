package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// manifestFile is written last: a folder without it is no backup.
const manifestFile = "backup.json"

// formatVersion is the format of the folder: of the manifest and of the files.
const formatVersion = 1

// Source says which installation's log was copied.
type Source struct {
	Installation string `json:"installation" jsonschema:"the name of the installation"`
	// Engines are the addresses of its engines: nothing is restored while one of them answers.
	Engines []string `json:"engines" jsonschema:"where its engines answer"`
	// Data is the data directory of the engine, empty where the log is not in one.
	Data string `json:"data,omitempty" jsonschema:"its data directory"`
	Host string `json:"host,omitempty" jsonschema:"the machine"`
	// Version is the version of the program.
	Version string `json:"version" jsonschema:"the version of pawl"`
}

// String says where a backup was made.
func (s Source) String() string {
	text := "installation " + s.Installation
	if s.Data != "" {
		text += ", " + s.Data
	}
	if s.Host != "" {
		text += " on " + s.Host
	}
	return text
}

// Manifest describes a backup.
type Manifest struct {
	Format int `json:"format"`
	Source
	TakenAt eventlog.Instant `json:"takenAt"`
	// NamesLost says that the log may have lost workflows with their names (see [eventlog.LossKeeper]).
	NamesLost  bool        `json:"namesLost,omitempty"`
	Partitions []Partition `json:"partitions"`
}

// Partition is the copy of one partition.
type Partition struct {
	File    string `json:"file"`
	Records int    `json:"records"`
	// Last is the sequence at which the copy ends.
	Last   uint64 `json:"last"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Records counts the transitions of all partitions.
func (m *Manifest) Records() (n int) {
	for _, p := range m.Partitions {
		n += p.Records
	}
	return n
}

// Bytes counts the bytes of all files.
func (m *Manifest) Bytes() (n int64) {
	for _, p := range m.Partitions {
		n += p.Bytes
	}
	return n
}

func partitionFile(p int) string { return "partition-" + strconv.Itoa(p) + ".log" }

func (m *Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return durable.WriteFile(filepath.Join(dir, manifestFile), append(text, '\n'))
}

// ErrNoBackup: the folder holds no whole backup.
var ErrNoBackup = errors.New("it is no backup")

// readManifest also returns the hash that identifies the backup.
func readManifest(dir string) (m Manifest, id string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, "", fmt.Errorf("%w: %s has no %s, which a backup gets once it is whole", ErrNoBackup, dir, manifestFile)
	case err != nil:
		return m, "", fmt.Errorf("read the manifest: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, "", fmt.Errorf("%w: read %s: %w", ErrNoBackup, manifestFile, err)
	}
	if m.Format > formatVersion {
		return m, "", fmt.Errorf("%w: the backup has format %d, this pawl reads up to %d", eventlog.ErrNewerFormat, m.Format,
			formatVersion)
	}
	if m.Format < 1 || m.Installation == "" || len(m.Partitions) == 0 {
		return m, "", fmt.Errorf("%w: %s says nothing of a log", ErrNoBackup, manifestFile)
	}
	return m, eventlog.HashOf(text).String(), nil
}

// Bytes are bytes that JSON has in base64.
type Bytes []byte

// The errors of Take and of Origin.
var (
	ErrNotEmpty         = errors.New("the folder is not empty")
	ErrUnknownPartition = errors.New("there is no such partition")
	ErrWrong            = errors.New("the copy is not whole")
)
