package embeddednats_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// The server's limit counts what is compressed as it was before: a limit that is reckoned from the files' sizes would
// be used up while most of the disk is free, for good.
func TestStoredIsWhatTheServerCounts(t *testing.T) {
	const messages, size = 24, 1 << 20
	dir := t.TempDir()
	if n, err := embeddednats.Stored(dir); err != nil || n != 0 {
		t.Errorf("without a store: %d, %v", n, err)
	}
	s := natstest.NewServer(t, natstest.InDir(dir))
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Compression: jetstream.S2Compression}
	stream, err := js.CreateStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range messages {
		if _, err := js.Publish(t.Context(), "s", bytes.Repeat([]byte("x"), size)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Shutdown() // compresses what is full
	files := int64(0)
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			info, _ := entry.Info()
			files += info.Size()
		}
		return err
	})
	if err != nil || files > messages*size/2 {
		t.Fatalf("the files have %d bytes (%v): nothing is compressed", files, err)
	}
	if n, err := embeddednats.Stored(dir); err != nil || n < int64(info.State.Bytes) ||
		n > int64(info.State.Bytes)+size {
		t.Errorf("stored are %d bytes, the server counts %d (%v)", n, info.State.Bytes, err)
	}
}
