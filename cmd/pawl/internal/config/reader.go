package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/feed"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/trace"
)

// Reader computes the settings of one command.
type Reader struct {
	Flags Common
	// Env looks up a variable of the environment.
	Env func(name string) (value string, ok bool)
	// Home is the data directory if none is named and this folder has none; empty means the one in the user's state.
	Home string
	// HTTP is the address of an engine for which none is configured; empty means DefaultHTTP.
	HTTP string
}

// DataDir is the data directory; every command uses this rule. The directory that is named comes first, then .pawl in
// the working directory if that or pawl.yaml exists there, then the command's own default (Home), then the user's state
// directory.
func (r Reader) DataDir(configured string) string {
	if named := cmp.Or(r.Flags.Data, configured); named != "" {
		return named
	}
	if exists(DefaultData) || exists(FileName) {
		return DefaultData
	}
	return cmp.Or(r.Home, stateHome(r.Env))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckMoved refuses to begin anew in this folder while the user's state directory holds a log: an engine that was
// started in a folder with pawl.yaml and nothing else once kept its data there, and must not do its work again.
func (r Reader) CheckMoved(data string) error {
	here, err := filepath.Abs(DefaultData)
	if err != nil {
		return exit.Failed("", err)
	}
	before := stateHome(r.Env)
	if r.Flags.Data != "" || data != here || exists(DefaultData) || !exists(filepath.Join(before, "jetstream")) {
		return nil
	}
	return exit.Misconfigured(
		fmt.Sprintf("to go on with that data, write this into %s: data: %s; to begin anew: mkdir %s", FileName, before,
			DefaultData),
		"%s holds the data of an engine, and this folder has a %s and no data of its own", before, FileName)
}

// ReadConfig finds and reads the configuration file: --config, else here, else in the data directory.
func (r Reader) ReadConfig() (File, error) {
	if r.Flags.Config != "" {
		return LoadFile(r.Flags.Config, true, r.Flags.Profile)
	}
	c, err := LoadFile(FileName, false, r.Flags.Profile)
	if err != nil || c.Path != "" {
		return c, err
	}
	c, err = LoadFile(filepath.Join(r.DataDir(""), FileName), false, r.Flags.Profile)
	if err == nil && c.Path == "" && r.Flags.Profile != "" {
		return c, exit.Misconfigured("name the file with --config FILE, or leave the profile out",
			"there is no %s here or in the data directory, so no profile %q", FileName, r.Flags.Profile)
	}
	if err == nil && c.Data != "" {
		return c, exit.Misconfigured("move the file to where pawl is started, or take the key out",
			"%s: data cannot be set by a file that lies in the data directory", c.Path)
	}
	return c, err
}

// Settings computes the settings of an engine, with the secrets of its connectors. Errors name the setting and its
// place in the file.
func (r Reader) Settings(flags Engine, untilIdle *bool) (Settings, error) {
	file, err := r.ReadConfig()
	if err != nil {
		return Settings{}, err
	}
	if err := file.Expand(r.Env); err != nil {
		return Settings{}, err
	}
	return r.Merge(file, flags, untilIdle)
}

// Merge computes the settings of the flags (to which those of the environment were added already) and the file. A flag
// comes before the file.
func (r Reader) Merge(file File, flags Engine, untilIdle *bool) (s Settings, err error) {
	s = Settings{
		File:        file.Path,
		Data:        r.DataDir(file.Data),
		HTTP:        cmp.Or(flags.HTTP, file.HTTP, r.HTTP, DefaultHTTP),
		NATSListen:  cmp.Or(flags.NATS, file.NATSListen),
		HooksListen: cmp.Or(flags.Hooks, file.Hooks),
		Feed:        *cmp.Or(flags.Feed, file.Feed, new(bool)),
		FeedBytes:   int64(*cmp.Or(flags.FeedSize, file.FeedSize, new(schedule.Size))),
		Traces:      cmp.Or(flags.Traces, file.Traces),
		TLSCert:     cmp.Or(flags.TLSCert, file.TLSCert),
		TLSKey:      cmp.Or(flags.TLSKey, file.TLSKey),
		Plaintext:   *cmp.Or(flags.Plain, file.Plaintext, new(bool)),
		NoAuth:      *cmp.Or(flags.NoAuth, file.NoAuth, new(bool)),
		PublicURL:   cmp.Or(flags.Public, file.PublicURL),
		UntilIdle:   *cmp.Or(untilIdle, file.UntilIdle, new(bool)),
		URL:         file.URL,
		As:          file.As,
		Connectors:  file.Connectors,
		Policies:    file.Policies,
		Secrets:     file.Values,
		Vars:        file.Vars.asJSON(),
		Recordings:  file.Recordings.kept(),

		Subscriptions: file.Outgoing,
		Alerts:        file.Alerting,
		Origin:        originOf(file, flags),
	}
	if *cmp.Or(flags.Insecure, file.Insecure, new(bool)) {
		return s, s.Origin.Locate("insecure",
			exit.Misconfigured("give --tls-cert and --tls-key; or --plaintext if TLS ends before pawl, at a proxy of yours; "+
				"or listen on 127.0.0.1, with --no-auth if no token is wanted there",
				"insecure does not exist any more: an engine beyond this machine always asks for a token"))
	}
	if s.FeedBytes != 0 && s.FeedBytes < feed.LeastBytes {
		return s, s.Origin.Locate("feed-bytes", exit.Misconfigured("write e.g. 1GiB",
			"feed-bytes: a feed keeps at least %s", schedule.Size(feed.LeastBytes)))
	}
	all := 1.0
	s.TracesSample = *cmp.Or(flags.Sample, file.Sample, &all)
	if s.TracesSample < 0 || s.TracesSample > 1 {
		return s, s.Origin.Locate("traces-sample", exit.Misconfigured("write e.g. 0.1",
			"traces-sample: %v is not between 0 and 1", s.TracesSample))
	}
	if s.Traces != "" {
		if err := trace.CheckEndpoint(s.Traces); err != nil {
			return s, s.Origin.Locate("traces", exit.Misconfigured("write e.g. http://127.0.0.1:4318", "traces: %v", err))
		}
	}
	if len(file.Subscriptions) > 0 && !s.Feed {
		return s, s.Origin.Locate("subscriptions", exit.Misconfigured("write feed: true beside them, or start with --feed",
			"subscriptions are sent what the feed holds, and this engine publishes none"))
	}
	if s.PublicURL != "" {
		if _, err := auth.ParsePublicURL(s.PublicURL); err != nil {
			return s, s.Origin.Locate("public-url", exit.Misconfigured("write e.g. https://pawl.example.com", "public-url: %v",
				err))
		}
	}
	if s.Sandbox, err = parseSandbox(cmp.Or(flags.Sandbox, file.Sandbox)); err != nil {
		return s, err
	}
	if s.SyncInterval, err = parseSync(cmp.Or(flags.Sync, file.Sync, syncAlways)); err != nil {
		return s, err
	}
	clock := cmp.Or(flags.Clock, file.Clock, clockSystem)
	if _, err = parseClock(clock, ""); err != nil {
		return s, err
	}
	if s.Clock, err = parseClock(clock, cmp.Or(flags.Start, file.ClockStart)); err != nil {
		return s, s.Origin.Locate("clock-start", err)
	}
	s.Connectors.setRoot(&s.Connectors.Maildir, cmp.Or(flags.Maildir, file.Maildir))
	s.Connectors.setRoot(&s.Connectors.Files, cmp.Or(flags.Files, file.Files))
	s.Connectors.setRoot(&s.Connectors.CSV, cmp.Or(flags.CSV, file.CSV))
	if s.Data, err = filepath.Abs(s.Data); err != nil {
		return s, exit.Failed("", err)
	}
	return s, nil
}

// As is the name that the caller claims by default: that of the environment, else the user's name in the operating
// system; empty where there is none.
func (r Reader) As() string {
	for _, name := range []string{"PAWL_AS", "USER", "USERNAME"} {
		if value, ok := r.Env(name); ok && value != "" {
			return value
		}
	}
	known, err := user.Current()
	if err != nil {
		return ""
	}
	name := known.Username[strings.LastIndex(known.Username, `\`)+1:] // without a domain
	if rpc.CheckActor(name) != nil {
		return ""
	}
	return name
}

// stateHome is where an engine keeps its data if no directory is named.
func stateHome(env func(string) (string, bool)) string {
	if dir, ok := env("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "pawl")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "pawl")
	}
	return DefaultData
}

// ActorNamed is the user of that name; an empty name is an unknown user.
func ActorNamed(name string) eventlog.Actor {
	if name != "" {
		return eventlog.Actor{Kind: "user", Name: name}
	}
	return eventlog.Actor{Kind: "api", Name: "anonymous"}
}
