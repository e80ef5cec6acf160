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
			says := "the metadata from before the update is restored"
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
// lies there, or an older copy if there is one, is taken with consent only, and only if the server would serve the
// stream with it and drop nothing of it.
func TestTornUpdateWithoutItsCopy(t *testing.T) {
	t.Parallel()
	refused := errors.New("no consent")
	tearAnd := func(more func(tornStore)) func(tornStore) {
		return func(s tornStore) { s.tear("new"); s.remove("meta.copy"); more(s) }
	}
	behindAnUpdate := func(more func(tornStore)) func(tornStore) {
		return func(s tornStore) { old := s.older(); s.tear("1", "new"); s.write("meta.copy", old); more(s) }
	}
	change := func(from, to string) func(tornStore) {
		return func(s tornStore) {
			before := s.read("meta.inf")
			if !strings.Contains(before, from) {
				t.Fatalf("no %s in %s", from, before)
			}
			s.write("meta.inf", strings.Replace(before, from, to, 1))
		}
	}
	nothing := func(tornStore) {}
	for name, c := range map[string]struct {
		tear func(tornStore)
		want string // the version of what is taken; empty if nothing can be
	}{
		"no copy": {tearAnd(nothing), "new"},
		"half a copy": {func(s tornStore) {
			s.tear("new")
			s.write("meta.copy", s.read("meta.copy")[:60])
		}, "new"},
		"another stream":            {tearAnd(change(`"name":"S"`, `"name":"T"`)), ""},
		"not readable":              {tearAnd(func(s tornStore) { s.write("meta.inf", "{") }), ""},
		"more behind it":            {tearAnd(func(s tornStore) { s.write("meta.inf", s.read("meta.inf")+"{") }), ""},
		"a field that is not known": {tearAnd(change(`"max_age":`, `"max_agf":`)), ""},
		"a server that is to come":  {tearAnd(change(`"_nats.req.level":"`, `"_nats.req.level":"9`)), ""},
		"messages would be dropped": {tearAnd(change(`"max_age":0`, `"max_age":1`)), ""},
		"older copy":                {behindAnUpdate(nothing), "0"},
		"older copy, not readable":  {behindAnUpdate(func(s tornStore) { s.write("meta.inf", "{") }), "0"},
		"older copy alone":          {behindAnUpdate(func(s tornStore) { s.remove("meta.inf"); s.remove("meta.sum") }), "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTornStore(t)
			c.tear(s)
			state := func() string {
				inf, _ := os.ReadFile(s.path("meta.inf")) // it may be gone
				sum, _ := os.ReadFile(s.path("meta.sum"))
				return string(inf) + string(sum)
			}
			before := state()
			s.run(func(server *embeddednats.Server, js jetstream.JetStream) {
				why, ok := server.Unserved("S")
				if !ok || why.Usable != (c.want != "") || !strings.Contains(why.Reason, s.path("msgs")) {
					t.Errorf("unserved: %v, %+v", ok, why)
				}
				if _, err := js.Stream(t.Context(), "S"); !errors.Is(err, jetstream.ErrStreamNotFound) {
					t.Errorf("the server serves it: %v", err)
				}
			})
			var takes []string
			trust := func(yes bool, err error) func(*embeddednats.Config) {
				return func(c *embeddednats.Config) {
					c.StoreDir = s.dir
					c.Trust = func(_, what string) (bool, error) { takes = append(takes, what); return yes, err }
				}
			}
			s.run(s.nothing, trust(false, nil))
			if c.want == "" {
				s.run(s.nothing, trust(true, nil))
			} else {
				var cfg embeddednats.Config
				trust(true, refused)(&cfg)
				if _, err := embeddednats.Start(t.Context(), cfg); !errors.Is(err, refused) {
					t.Errorf("without consent: %v", err)
				}
			}
			if after := state(); after != before || len(takes) > 0 != (c.want != "") {
				t.Errorf("asked for consent to %q; now %s, before %s", takes, after, before)
			}
			says := "its metadata does not match its checksum; "
			says += map[string]string{"new": "it is taken as it is", "0": "an older copy of it is taken"}[c.want]
			for _, what := range takes {
				if !strings.Contains(what, says) {
					t.Errorf("it asks for consent to %q, want %q", what, says)
				}
			}
			if c.want != "" {
				s.wantVersion(c.want, says, trust(true, nil))
			}
		})
	}
}

// A stream that is worth nothing is created again where its metadata is damaged, whatever that still says. A torn
// update costs it nothing.
func TestDisposableStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tear func(tornStore)
		kept bool
	}{
		"not readable": {func(s tornStore) { s.remove("meta.sum"); s.write("meta.inf", "{") }, false},
		"a field that is not known": {func(s tornStore) {
			s.write("meta.inf", strings.Replace(s.read("meta.inf"), "max_age", "max_agf", 1))
		}, false},
		"a torn update": {func(s tornStore) { s.tear("new") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTornStore(t)
			c.tear(s)
			s.run(func(server *embeddednats.Server, js jetstream.JetStream) {
				_, err := js.Stream(t.Context(), "S")
				if errors.Is(err, jetstream.ErrStreamNotFound) == c.kept {
					t.Errorf("kept, or not: %v", err)
				}
				if why, unserved := server.Unserved("S"); unserved {
					t.Errorf("it is unserved: %+v", why)
				}
				if c.kept {
					return
				}
				cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}
				stream, err := js.CreateStream(t.Context(), cfg)
				if err != nil || stream.CachedInfo().State.Msgs != 0 {
					t.Errorf("it cannot be created again: %v", err)
				}
			}, func(c *embeddednats.Config) { c.Disposable = []string{"S"} })
		})
	}
}

func (s tornStore) older() string {
	s.run(s.nothing)
	return s.read("meta.copy")
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
