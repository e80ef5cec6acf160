package embeddednats_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// A damaged record costs that message alone after a kill: the server would cut its block off there, with all that was
// acknowledged behind it.
func TestDamageCostsOneMessage(t *testing.T) {
	const messages = 50
	for name, c := range map[string]struct {
		damage func(record []byte)
		lost   int
	}{
		"in its text":           {func(r []byte) { r[recordText] ^= 1 }, 1},
		"in its length":         {func(r []byte) { r[1] ^= 0x40 }, 1},
		"in its sequence":       {func(r []byte) { r[5] ^= 0x10 }, 1},
		"in its checksum":       {func(r []byte) { r[len(r)-1] ^= 1 }, 1},
		"all of it":             {func(r []byte) { clear(r) }, 1},
		"and what follows it":   {func(r []byte) { clear(r[:len(r)+len(r)/2]) }, 2},
		"a length like another": {func(r []byte) { r[0] += 8 }, 1},
	} {
		for _, where := range []int{1, 20, messages - 3} {
			t.Run(fmt.Sprintf("%s, message %d", name, where), func(t *testing.T) {
				dir := t.TempDir()
				killed := filled(t, dir, messages)
				block := filepath.Join(killed, "jetstream", "$G", "streams", "S", "msgs", "1.blk")
				text, err := os.ReadFile(block)
				if err != nil {
					t.Fatal(err)
				}
				size := len(text) / messages
				c.damage(text[(where-1)*size : where*size : len(text)])
				if err := os.WriteFile(block, text, 0o600); err != nil {
					t.Fatal(err)
				}
				for range 2 { // what was mended stays so
					wantLost(t, killed, messages, where, c.lost)
				}
			})
		}
	}
}

// What the data directory is called changes nothing of that.
func TestDamageInAFolderNamedLikeAPattern(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*?")
	if err := os.Rename(filled(t, t.TempDir(), 10), dir); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(dir, "jetstream", "$G", "streams", "S", "msgs", "1.blk")
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	text[4*len(text)/10+recordText] ^= 1
	if err := os.WriteFile(block, text, 0o600); err != nil {
		t.Fatal(err)
	}
	wantLost(t, dir, 10, 5, 1)
}

// recordText is where the text of the test's messages begins in a record.
const recordText = 22 + len("s")

// filled fills a stream with messages of one length and returns a copy of its directory, taken while the server runs:
// as a killed process leaves it.
func filled(t *testing.T, dir string, messages int) string {
	t.Helper()
	s := natstest.NewServer(t, natstest.InDir(dir))
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if _, err := js.Publish(t.Context(), "s", fmt.Appendf(nil, "message %04d", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return killed
}

func wantLost(t *testing.T, dir string, messages, from, lost int) {
	t.Helper()
	s := natstest.NewServer(t, natstest.InDir(dir))
	defer s.Shutdown()
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	state := stream.CachedInfo().State
	if state.Msgs != uint64(messages-lost) || state.LastSeq != uint64(messages) {
		t.Errorf("%d messages up to %d, want %d up to %d", state.Msgs, state.LastSeq, messages-lost, messages)
	}
	for i := 1; i <= messages; i++ {
		m, err := stream.GetMsg(t.Context(), uint64(i))
		if gone := i >= from && i < from+lost; gone != (err != nil) {
			t.Fatalf("message %d: %v", i, err)
		}
		if err == nil && !bytes.Equal(m.Data, fmt.Appendf(nil, "message %04d", i)) {
			t.Fatalf("message %d is %q", i, m.Data)
		}
	}
}

// A torn end is the server's: nothing acknowledged stands behind it. After a clean stop no block is read, and after a
// stop whose note is of an earlier one they are.
func TestDamageIsMendedOnlyWhereTheServerWouldCut(t *testing.T) {
	const messages = 20
	dir := t.TempDir()
	killed := filled(t, dir, messages)
	block := filepath.Join(killed, "jetstream", "$G", "streams", "S", "msgs", "1.blk")
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	size := len(text) / messages
	if err := os.WriteFile(block, text[:len(text)-size/2], 0o600); err != nil {
		t.Fatal(err)
	}
	s := natstest.NewServer(t, natstest.InDir(killed))
	s.Shutdown()
	if left, err := os.ReadFile(block); err != nil || !bytes.Equal(left[:(messages-1)*size], text[:(messages-1)*size]) {
		t.Errorf("what stands before a torn end has changed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(killed, "damaged")); err == nil {
		t.Error("a torn end was taken for damage in the middle")
	}

	flip := func() []byte {
		text, err := os.ReadFile(block)
		if err != nil {
			t.Fatal(err)
		}
		text[5*size+recordText] ^= 1
		if err := os.WriteFile(block, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return text
	}
	flipped := flip()
	natstest.NewServer(t, natstest.InDir(killed)).Shutdown()
	if left, err := os.ReadFile(block); err != nil || !bytes.Equal(left[:len(flipped)], flipped) {
		t.Errorf("after a clean stop the block was changed: %v", err)
	}

	state := filepath.Join(killed, "jetstream", "$G", "streams", "S", "msgs", "index.db")
	if err := os.Remove(state); err != nil { // as if an older version had run and been killed
		t.Fatal(err)
	}
	natstest.NewServer(t, natstest.InDir(killed)).Shutdown()
	if saved, err := os.ReadFile(filepath.Join(killed, "damaged", "S-1.blk")); err != nil ||
		!bytes.Equal(saved[:len(flipped)], flipped) {
		t.Errorf("the damaged block was not saved: %v", err)
	}
	if left, err := os.ReadFile(block); err != nil || !bytes.Equal(left[6*size:len(flipped)], flipped[6*size:]) {
		t.Errorf("what stands behind the damage has changed: %v", err)
	}
}

// The blocks before the last one are compressed, with checksums that would give up a whole block for one bit.
func TestDamageInACompressedBlockCostsOneMessage(t *testing.T) {
	const messages, size = 12, 1 << 20
	dir := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(dir))
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Compression: jetstream.S2Compression}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	sent := make([][]byte, messages)
	for i := range sent {
		sent[i] = make([]byte, size)
		_, _ = noise.Read(sent[i])
		if _, err := js.Publish(t.Context(), "s", sent[i]); err != nil {
			t.Fatal(err)
		}
	}
	s.Shutdown() // compresses what is full
	msgs := filepath.Join(dir, "jetstream", "$G", "streams", "S", "msgs")
	first := filepath.Join(msgs, "1.blk")
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("cmp")) {
		t.Fatal("the first block is not compressed")
	}
	text[3*size+size/2] ^= 1
	if err := os.WriteFile(first, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(msgs, "index.db")); err != nil {
		t.Fatal(err)
	}

	s = natstest.NewServer(t, natstest.InDir(dir))
	if js, err = jetstream.New(natstest.Connect(t, s)); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range sent {
		m, err := stream.GetMsg(t.Context(), uint64(i+1))
		if lost := i == 3; lost != (err != nil) {
			t.Errorf("message %d: %v", i+1, err)
		} else if err == nil && !bytes.Equal(m.Data, want) {
			t.Errorf("message %d has changed", i+1)
		}
	}
}
