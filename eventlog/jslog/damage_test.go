package jslog_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// site is a log's data directory that a test fills, damages while nothing runs, and opens again.
type site struct {
	t    *testing.T
	dir  string
	mark string
}

func newSite(t *testing.T) site {
	dir := t.TempDir()
	return site{t, filepath.Join(dir, "nats"), filepath.Join(dir, "mark")}
}

func (s site) copy(t *testing.T) site {
	t.Helper()
	c := newSite(t)
	mark, err := os.ReadFile(s.mark)
	if err == nil {
		err = os.WriteFile(c.mark, mark, 0o600)
	}
	if err := errors.Join(err, os.CopyFS(c.dir, os.DirFS(s.dir))); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s site) config() jslog.Config {
	return jslog.Config{Mark: s.mark, EmbeddedSync: true}
}

// fill writes n transitions of one workflow and stops everything.
func (s site) fill(n, size int) {
	s.t.Helper()
	server := natstest.NewServer(s.t, natstest.InDir(s.dir), natstest.Fast)
	defer server.Shutdown()
	l := mustOpen(s.t, natstest.Connect(s.t, server), s.config())
	s.append(l, n, size)
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s site) append(l eventlog.Log, n, size int) eventlog.Head {
	s.t.Helper()
	var head eventlog.Head
	for r, err := range l.ReadWorkflow(s.t.Context(), "a", 1) {
		if err != nil {
			s.t.Fatal(err)
		}
		head = r.Head()
	}
	for range n {
		e := logtest.PaddedEntry(s.t, "a", head, size)
		var err error
		if head, err = logtest.Head(l.Append(s.t.Context(), e)); err != nil {
			s.t.Fatal(err)
		}
	}
	return head
}

func (s site) open(options ...func(*embeddednats.Config)) (*embeddednats.Server, *jslog.Log, error) {
	s.t.Helper()
	server := natstest.NewServer(s.t, append(options, natstest.InDir(s.dir), natstest.Fast)...)
	l, err := jslog.Open(s.t.Context(), natstest.Connect(s.t, server), s.config())
	if err == nil {
		s.t.Cleanup(func() { _ = l.Close() })
	}
	return server, l, err
}

func (s site) streamDir() string {
	return filepath.Join(s.dir, "jetstream", "$G", "streams", "PAWL_LOG_0")
}

func (s site) blocks() []string {
	s.t.Helper()
	blocks, err := filepath.Glob(filepath.Join(s.streamDir(), "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		s.t.Fatalf("no blocks in %s: %v", s.streamDir(), err)
	}
	slices.SortFunc(blocks, func(a, b string) int { // by number
		return slices.Compare([]int{len(a)}, []int{len(b)})*2 + strings.Compare(a, b)
	})
	return blocks
}

func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsRefused: JetStream starts on all of these; Pawl refuses to run, or, where only
// reading shows it, reports the loss when it reads.
func TestDamageIsRefused(t *testing.T) {
	t.Parallel()
	original := newSite(t)
	original.fill(18, 1<<20) // three blocks of about 8 MB
	if n := len(original.blocks()); n < 3 {
		t.Fatalf("%d blocks, want at least 3", n)
	}
	for _, c := range []struct {
		name   string
		damage func(*testing.T, site)
		open   bool // Open may succeed, then Read must report it
	}{
		{"last byte cut off", func(t *testing.T, s site) {
			change(t, last(s.blocks()), func(b []byte) []byte { return b[:len(b)-1] })
		}, false},
		{"last byte cut off, no index", func(t *testing.T, s site) {
			change(t, last(s.blocks()), func(b []byte) []byte { return b[:len(b)-1] })
			remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
		}, false},
		{"end of zeroes", func(t *testing.T, s site) {
			change(t, last(s.blocks()), func(b []byte) []byte { clear(b[len(b)-4096:]); return b })
		}, false},
		{"bit flipped near the end", func(t *testing.T, s site) {
			change(t, last(s.blocks()), func(b []byte) []byte { b[len(b)-200] ^= 4; return b })
		}, false},
		{"bit flipped near the end, no index", func(t *testing.T, s site) {
			change(t, last(s.blocks()), func(b []byte) []byte { b[len(b)-200] ^= 4; return b })
			remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
		}, false},
		{"bit flipped in the middle of the first block", func(t *testing.T, s site) {
			change(t, s.blocks()[0], func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		}, true},
		{"bit flipped in the middle of the last block", func(t *testing.T, s site) {
			change(t, last(s.blocks()), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		}, true},
		{"first block gone", func(t *testing.T, s site) { remove(t, s.blocks()[0]) }, false},
		{"middle block gone, no index", func(t *testing.T, s site) {
			remove(t, s.blocks()[1])
			remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
		}, false},
		{"last block gone", func(t *testing.T, s site) { remove(t, last(s.blocks())) }, false},
		{"last block and index gone", func(t *testing.T, s site) {
			remove(t, last(s.blocks()))
			remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
		}, false},
		{"all messages gone", func(t *testing.T, s site) { remove(t, filepath.Join(s.streamDir(), "msgs")) }, false},
		{"stream's directory gone", func(t *testing.T, s site) { remove(t, s.streamDir()) }, false},
		{"stream's description gone", func(t *testing.T, s site) {
			remove(t, filepath.Join(s.streamDir(), "meta.inf"))
		}, false},
		{"whole store gone", func(t *testing.T, s site) { remove(t, s.dir) }, false},
		{"mark torn in both entries", func(t *testing.T, s site) {
			change(t, s.mark, func(b []byte) []byte { clear(b[4096:]); return b })
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := original.copy(t)
			c.damage(t, s)
			_, l, err := s.open()
			if err == nil && c.open {
				for _, rerr := range l.Read(t.Context(), 0, 1) {
					if rerr != nil {
						err = rerr
					}
				}
			}
			if !errors.Is(err, eventlog.ErrDamaged) {
				t.Fatalf("opened: %v, want ErrDamaged", err)
			}
			t.Log(err)
		})
	}
	t.Run("accepted", func(t *testing.T) { acceptLoss(t, original.copy(t)) })
}

func last(s []string) string { return s[len(s)-1] }

func TestTornMarkFallsBackToTheOlderEntry(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(5, 10)
	whole, err := os.ReadFile(s.mark)
	if err != nil {
		t.Fatal(err)
	}
	for slot := range 2 {
		change(t, s.mark, func([]byte) []byte {
			torn := bytes.Clone(whole)
			clear(torn[4096+512*slot+5 : 4096+512*slot+40])
			return torn
		})
		server, l, err := s.open()
		if err != nil {
			t.Fatalf("entry %d torn: %v", slot, err)
		}
		_ = l.Close()
		server.Shutdown()
	}
}

func TestMarkOfAnotherLog(t *testing.T) {
	s, other := newSite(t), newSite(t)
	s.fill(1, 10)
	other.fill(1, 10)
	s.mark = other.mark
	if _, _, err := s.open(); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("opened with another log's mark: %v, want ErrDamaged", err)
	}
}

func TestMissingMarkIsWarnedAbout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(3, 10)
	remove(t, s.mark)
	_, l, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	if w := l.Warnings(); len(w) != 1 || !strings.Contains(w[0], s.mark) {
		t.Errorf("warnings %q, want one that names the mark", w)
	}
	if _, err := os.Stat(s.mark); err != nil {
		t.Errorf("no new mark: %v", err)
	}
}

// TestTornTailAboveTheMark: what is lost above the mark was never acknowledged before a request
// left; the log goes on.
func TestTornTailAboveTheMark(t *testing.T) {
	for _, index := range []bool{true, false} {
		t.Run(fmt.Sprintf("index %t", index), func(t *testing.T) {
			s := newSite(t)
			s.fill(10, 100)
			old, err := os.ReadFile(s.mark)
			if err != nil {
				t.Fatal(err)
			}
			server, l, err := s.open()
			if err != nil {
				t.Fatal(err)
			}
			s.append(l, 3, 100)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			server.Shutdown()
			// As after a power cut: the mark is older than the end, and the end is torn.
			if err := os.WriteFile(s.mark, old, 0o600); err != nil {
				t.Fatal(err)
			}
			change(t, last(s.blocks()), func(b []byte) []byte { return b[:len(b)-7] })
			if !index {
				remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
			}
			for range 2 { // and again: what was accepted stays accepted
				server, l, err := s.open()
				if err != nil {
					t.Fatal(err)
				}
				n := uint64(0)
				for r, err := range l.Read(t.Context(), 0, 1) {
					if err != nil {
						t.Errorf("read: %v", err)
					}
					if n++; r.Revision != n {
						t.Errorf("revision %d, want %d", r.Revision, n)
					}
				}
				if n < 10 {
					t.Errorf("%d records left, want at least 10", n)
				}
				s.append(l, 1, 100)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				server.Shutdown()
			}
		})
	}
}

func acceptLoss(t *testing.T, s site) {
	remove(t, s.blocks()[0])
	remove(t, last(s.blocks()))
	remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
	server, _, err := s.open()
	if !errors.Is(err, eventlog.ErrDamaged) {
		t.Fatalf("opened: %v, want ErrDamaged", err)
	}
	nc := natstest.Connect(t, server)
	lost, err := jslog.AcceptLoss(t.Context(), nc, s.config())
	if err != nil || len(lost.Lines) != 2 || !lost.End {
		t.Fatalf("accepted %+v, %v; want a hole and the end", lost, err)
	}
	// Until it is recorded, a repeated acceptance is told the same.
	if again, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil || len(again.Lines) == 0 || !again.End {
		t.Errorf("accepted again: %+v, %v", again, err)
	}
	l := mustOpen(t, nc, s.config())
	if missing := l.Unrecorded(0); len(missing) != 1 || missing[0].From != 1 || l.NamesLost(0) {
		t.Errorf("unrecorded: %+v, names lost: %v", missing, l.NamesLost(0))
	}
	if err := l.Recorded(t.Context(), 0, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil || len(again.Lines) != 0 || again.End {
		t.Errorf("accepted once it is recorded: %+v, %v", again, err)
	}
	l = mustOpen(t, nc, s.config())
	if missing := l.Unrecorded(0); len(missing) > 0 || !l.NamesLost(0) {
		t.Errorf("once recorded: %+v, names lost: %v", missing, l.NamesLost(0))
	}
	first, _, _ := strings.Cut(l.Identity(0), "/")
	if !l.SameLog(first+"/0", 0) || l.SameLog("x"+l.Identity(0), 0) || l.SameLog(first+"/01", 0) {
		t.Errorf("which identities are of the same log: %s", l.Identity(0))
	}
	if !strings.HasSuffix(l.Identity(0), "/2") {
		t.Errorf("identity %s does not show that sequences may be used again", l.Identity(0))
	}
	var chain eventlog.Chain
	broken := 0
	for r, err := range l.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if err := chain.Check(r); err != nil {
			broken++
			if !errors.Is(err, eventlog.ErrDamaged) {
				t.Error(err)
			}
		}
	}
	if broken == 0 {
		t.Error("the chain of the workflow is whole across a hole")
	}
}

func TestReconfiguredStreamIsRefused(t *testing.T) {
	t.Parallel()
	server := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, server)
	l := mustOpen(t, nc, jslog.Config{})
	site{t: t}.append(l, 10, 10)
	reconfigure(t, nc, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 3, jetstream.DiscardOld })
	if _, err := jslog.Open(t.Context(), nc, jslog.Config{}); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("stream that drops messages: %v", err)
	}
	reconfigure(t, nc, func(c *jetstream.StreamConfig) { c.MaxMsgs = -1 })
	if _, err := jslog.Open(t.Context(), nc, jslog.Config{}); !errors.Is(err, eventlog.ErrDamaged) ||
		!strings.Contains(err.Error(), "1-7") {
		t.Errorf("stream that dropped messages: %v", err)
	}
}

func TestNewerFormat(t *testing.T) {
	t.Parallel()
	server := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, server)
	open := mustOpen(t, nc, jslog.Config{})
	set := func(format string) error {
		reconfigure(t, nc, func(c *jetstream.StreamConfig) { c.Metadata["pawl.format"] = format })
		_, err := jslog.Open(t.Context(), nc, jslog.Config{})
		return err
	}
	said := fmt.Sprintf("log format %d, this pawl reads up to %d", eventlog.FormatVersion+1, eventlog.FormatVersion)
	err := set(strconv.Itoa(eventlog.FormatVersion + 1))
	if !errors.Is(err, eventlog.ErrNewerFormat) || !strings.Contains(err.Error(), said) {
		t.Errorf("newer format: %v", err)
	}
	_, err = open.Last(t.Context(), 0)
	if !errors.Is(err, eventlog.ErrNewerFormat) || !strings.Contains(err.Error(), said) {
		t.Errorf("a newer format that a log gets while it is open: %v", err)
	}
	if err := set("none"); err == nil {
		t.Error("a stream without a format was taken for a log")
	}
}

// TestNewerServer: a stream that only a newer server can serve ends the start. It would not become readable by waiting.
func TestNewerServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := natstest.NewServer(t, natstest.Fast, natstest.InDir(dir))
	nc := natstest.Connect(t, server)
	mustOpen(t, nc, jslog.Config{})
	nc.Close()
	server.Shutdown()
	folder := filepath.Join(dir, "jetstream", "$G", "streams", "PAWL_LOG_0")
	info, err := os.ReadFile(filepath.Join(folder, "meta.inf"))
	if err != nil {
		t.Fatal(err)
	}
	info = bytes.Replace(info, []byte(`"_nats.req.level":"`), []byte(`"_nats.req.level":"9`), 1)
	key := sha256.Sum256([]byte("PAWL_LOG_0"))
	sum, err := highwayhash.New64(key[:])
	if err == nil {
		_, err = sum.Write(info)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "meta.inf"), info, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "meta.sum"), []byte(hex.EncodeToString(sum.Sum(nil))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	nc = natstest.Connect(t, natstest.NewServer(t, natstest.Fast, natstest.InDir(dir)))
	_, err = jslog.Open(t.Context(), nc, jslog.Config{})
	if !errors.Is(err, eventlog.ErrNewerFormat) || !strings.Contains(err.Error(), "required API level: 9") {
		t.Errorf("a stream of a newer server: %v", err)
	}
}

// TestPartitionGone: a log of which one partition is missing is not completed with an empty one.
func TestPartitionGone(t *testing.T) {
	t.Parallel()
	server := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, server)
	mustOpen(t, nc, jslog.Config{Partitions: 3})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "PAWL_LOG_0"); err != nil {
		t.Fatal(err)
	}
	l, err := jslog.Open(t.Context(), nc, jslog.Config{})
	if err != nil { // all are empty: as if the creation had been interrupted
		t.Fatal(err)
	}
	defer l.Close()
	if l.Partitions() != 3 {
		t.Errorf("%d partitions, want 3", l.Partitions())
	}
	if err := js.DeleteStream(t.Context(), "PAWL_LOG_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := jslog.Open(t.Context(), nc, jslog.Config{}); !errors.Is(err, eventlog.ErrDamaged) ||
		!strings.Contains(err.Error(), "PAWL_LOG_1") {
		t.Errorf("partition 1 is gone: %v, want ErrDamaged", err)
	}
}
