package embeddednats_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// tornStore is a store with the stream S, which holds three messages.
type tornStore struct {
	t   *testing.T
	dir string
}

func newTornStore(t *testing.T) tornStore {
	s := tornStore{t, t.TempDir()}
	s.run(func(_ *embeddednats.Server, js jetstream.JetStream) {
		cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Metadata: map[string]string{"version": "0"}}
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
				t.Fatal(err)
			}
		}
	})
	return s
}

// run starts a server, and stops it after do. It returns what the server logged.
func (s tornStore) run(
	do func(*embeddednats.Server, jetstream.JetStream), options ...func(*embeddednats.Config),
) string {
	s.t.Helper()
	var logged bytes.Buffer
	log := func(c *embeddednats.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) }
	server := natstest.NewServer(s.t, append(options, natstest.InDir(s.dir), log)...)
	nc := natstest.Connect(s.t, server)
	js, err := jetstream.New(nc)
	if err != nil {
		s.t.Fatal(err)
	}
	do(server, js)
	nc.Close()
	server.Shutdown()
	return logged.String()
}

func (s tornStore) path(name string) string {
	return filepath.Join(s.dir, "jetstream", "$G", "streams", "S", name)
}

func (s tornStore) read(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

func (s tornStore) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s tornStore) remove(name string) {
	s.t.Helper()
	if err := os.Remove(s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

// update makes the stream say that it has this version.
func (s tornStore) update(server *embeddednats.Server, js jetstream.JetStream, version string) {
	s.t.Helper()
	if err := server.KeepMetadata("S"); err != nil {
		s.t.Fatal(err)
	}
	stream, err := js.Stream(s.t.Context(), "S")
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Metadata["version"] = version
	if _, err := js.UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatal(err)
	}
}

// tear leaves what a kill leaves in the middle of the update to this version, after updates to those before it.
func (s tornStore) tear(versions ...string) {
	s.t.Helper()
	sum := ""
	s.run(func(server *embeddednats.Server, js jetstream.JetStream) {
		for _, version := range versions {
			sum = s.read("meta.sum")
			s.update(server, js, version)
		}
	})
	s.write("meta.sum", sum)
}

// wantVersion wants all messages, and the metadata of this version, from this start and the next one.
func (s tornStore) wantVersion(version, says string, options ...func(*embeddednats.Config)) {
	s.t.Helper()
	for _, says := range []string{says, ""} {
		logged := s.run(func(server *embeddednats.Server, js jetstream.JetStream) {
			stream, err := js.Stream(s.t.Context(), "S")
			if err != nil {
				s.t.Fatal(err)
			}
			info := stream.CachedInfo()
			if got := info.Config.Metadata["version"]; got != version || info.State.Msgs != 3 {
				s.t.Errorf("version %s with %d messages, want %s with 3", got, info.State.Msgs, version)
			}
			if why, ok := server.Unserved("S"); ok {
				s.t.Errorf("it calls the stream unserved: %+v", why)
			}
		}, options...)
		options = nil
		if says != "" && !strings.Contains(logged, says) || says == "" && strings.Contains(logged, "metadata") {
			s.t.Errorf("want %q said, once:\n%s", says, logged)
		}
	}
}

// A kill in the middle of an update leaves meta.inf and meta.sum that do not match. The stream comes back as it was
// before the update.
func TestTornUpdate(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(tornStore){
		"first update of a process":    func(s tornStore) { s.tear("new") },
		"third update of a process":    func(s tornStore) { s.run(s.nothing); s.tear("older", "0", "new") },
		"new metadata on half its way": func(s tornStore) { s.write("meta.inf.tmp", s.read("meta.inf")[:20]) },
		"metadata is gone":             func(s tornStore) { s.run(s.nothing); s.remove("meta.inf") },
		"checksum is gone":             func(s tornStore) { s.run(s.nothing); s.remove("meta.sum") },
		"copy on half its way": func(s tornStore) {
			s.tear("new")
			s.write(".meta.copy.1234", s.read("meta.copy")[:30])
		},
		"killed again while it was put back": func(s tornStore) {
			s.tear("new")
			_, inf, _ := strings.Cut(s.read("meta.copy"), "\n")
			s.write("meta.inf", inf)
			s.write("meta.sum", "not a checksum")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTornStore(t)
			tear(s)
			says := "what it was before is put back"
			if name == "new metadata on half its way" {
				says = ""
			}
			s.wantVersion("0", says)
			for _, name := range []string{"meta.inf.tmp", ".meta.copy.1234"} {
				if _, err := os.Stat(s.path(name)); err == nil {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

func (s tornStore) nothing(*embeddednats.Server, jetstream.JetStream) {}

// Metadata that matches is never replaced by the copy.
func TestFinishedUpdateStays(t *testing.T) {
	t.Parallel()
	s := newTornStore(t)
	s.run(func(server *embeddednats.Server, js jetstream.JetStream) { s.update(server, js, "1") })
	s.wantVersion("1", "")
}

// Without a copy from before this very update nothing is put back: an older one would undo what was acknowledged. What
// lies there is taken with consent only, and only if it is metadata of this stream.
func TestTornUpdateWithoutItsCopy(t *testing.T) {
	t.Parallel()
	refused := errors.New("no consent")
	for name, c := range map[string]struct {
		tear     func(tornStore)
		unusable bool
	}{
		"no copy":        {tear: func(s tornStore) { s.tear("new"); s.remove("meta.copy") }},
		"half a copy":    {tear: func(s tornStore) { s.tear("new"); s.write("meta.copy", s.read("meta.copy")[:60]) }},
		"older copy":     {tear: func(s tornStore) { old := s.older(); s.tear("1", "new"); s.write("meta.copy", old) }},
		"another stream": {func(s tornStore) { s.tear("new"); s.remove("meta.copy"); s.rename() }, true},
		"not readable":   {func(s tornStore) { s.tear("new"); s.remove("meta.copy"); s.write("meta.inf", "{") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTornStore(t)
			c.tear(s)
			before := s.read("meta.inf") + s.read("meta.sum")
			s.run(func(server *embeddednats.Server, js jetstream.JetStream) {
				why, ok := server.Unserved("S")
				if !ok || why.Usable == c.unusable || !strings.Contains(why.Reason, s.path("msgs")) {
					t.Errorf("unserved: %v, %+v", ok, why)
				}
				if _, err := js.Stream(t.Context(), "S"); !errors.Is(err, jetstream.ErrStreamNotFound) {
					t.Errorf("the server serves it: %v", err)
				}
			})
			asked := 0
			trust := func(yes bool, err error) func(*embeddednats.Config) {
				return func(c *embeddednats.Config) {
					c.StoreDir, c.Trust = s.dir, func(string) (bool, error) { asked++; return yes, err }
				}
			}
			s.run(s.nothing, trust(false, nil))
			if c.unusable {
				s.run(s.nothing, trust(true, nil))
			} else {
				var cfg embeddednats.Config
				trust(true, refused)(&cfg)
				if _, err := embeddednats.Start(t.Context(), cfg); !errors.Is(err, refused) {
					t.Errorf("without consent: %v", err)
				}
			}
			if after := s.read("meta.inf") + s.read("meta.sum"); after != before || asked > 0 == c.unusable {
				t.Errorf("asked %d times for consent; now %s, before %s", asked, after, before)
			}
			if !c.unusable {
				s.wantVersion("new", "taken as it is", trust(true, nil))
			}
		})
	}
}

func (s tornStore) older() string {
	s.run(s.nothing)
	return s.read("meta.copy")
}

func (s tornStore) rename() {
	s.write("meta.inf", strings.Replace(s.read("meta.inf"), `"name":"S"`, `"name":"T"`, 1))
}

// A kill while the stream is made leaves meta.inf alone. The server would never add the checksum, and lose at its next
// start what was stored meanwhile.
func TestTornCreation(t *testing.T) {
	t.Parallel()
	s := tornStore{t, t.TempDir()}
	create := func(_ *embeddednats.Server, js jetstream.JetStream) {
		cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Metadata: map[string]string{"version": "0"}}
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	s.run(create)
	s.remove("meta.sum")
	s.run(func(server *embeddednats.Server, js jetstream.JetStream) {
		create(server, js)
		for range 3 {
			if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
				t.Fatal(err)
			}
		}
	})
	s.wantVersion("0", "")
}

// An update whose copy cannot be made is refused, so it must be an error.
func TestKeepMetadataFails(t *testing.T) {
	t.Parallel()
	s := newTornStore(t)
	s.run(func(server *embeddednats.Server, _ jetstream.JetStream) {
		if err := server.KeepMetadata("T"); err == nil {
			t.Error("it keeps the metadata of a stream that is not there")
		}
		s.remove("meta.copy")
		if err := os.Mkdir(s.path("meta.copy"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := server.KeepMetadata("S"); err == nil {
			t.Error("it says that it made a copy where none can be written")
		}
	})
}
