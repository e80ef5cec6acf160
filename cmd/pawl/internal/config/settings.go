package config

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// The data directory and the address of one who names none.
const (
	DefaultData = ".pawl"
	DefaultHTTP = "127.0.0.1:7070"
)

// Common are the flags of every command.
type Common struct {
	Config string `placeholder:"FILE" type:"path" setting:"" help:"Configuration file; else pawl.yaml here or in the data directory."`
	Data   string `placeholder:"DIR" type:"path" setting:"" help:"Data directory (.pawl)."`
}

// Engine are the flags of the commands that run an engine.
type Engine struct {
	HTTP     string `name:"http" placeholder:"ADDR" setting:"" help:"Address to answer on (127.0.0.1:7070); :0 takes a free port."`
	Maildir  string `placeholder:"DIR" type:"path" setting:"" help:"Folder with mail for the maildir connector."`
	Files    string `placeholder:"DIR" type:"path" setting:"" help:"Folder for the files connector."`
	CSV      string `name:"csv" placeholder:"DIR" type:"path" setting:"" help:"Folder with sheets for the csv connector."`
	Sync     string `placeholder:"always|interval|DURATION" setting:"" help:"When writes reach the disk (always); interval, which is every second, or a duration like 100ms is faster and loses that much with the power."`
	TLSCert  string `name:"tls-cert" placeholder:"FILE" type:"path" setting:"" help:"Certificate to answer with, PEM."`
	TLSKey   string `name:"tls-key" placeholder:"FILE" type:"path" setting:"" help:"Its key, PEM."`
	NATS     string `name:"nats-listen" placeholder:"ADDR" setting:"" help:"Address for tools, subscribers and operators over NATS (none), e.g. 127.0.0.1:4222; :0 takes a free port."`
	Sandbox  string `name:"require-sandbox" placeholder:"full|partial|none" setting:"" help:"Refuse to run scripts in processes that are confined less (full where the system offers it, else none)."`
	Plain    *bool  `name:"plaintext" setting:"" help:"Answer beyond this machine unencrypted: TLS ends before pawl, at a proxy of yours."`
	NoAuth   *bool  `name:"no-auth" setting:"" help:"Ask callers for no token; on loopback only. Every user and program of this machine may then do everything."`
	Public   string `name:"public-url" placeholder:"URL" setting:"" help:"Address under which this engine is reached from elsewhere, such as https://pawl.example.com; its host is answered to."`
	Insecure *bool  `setting:"" hidden:"" help:"Of the first release; now --plaintext or --no-auth."`
	Clock    string `placeholder:"system|manual" setting:"" help:"What schedules and waits follow (system); a manual clock is moved by pawl clock advance."`
	Start    string `name:"clock-start" placeholder:"RFC3339" setting:"" help:"Where a manual clock starts, on empty data only; later it goes on where it stopped."`
}

// Settings are what flags, environment and configuration file come to.
type Settings struct {
	// File is the configuration file that was read, empty for none.
	File string
	// Data is the data directory, absolute.
	Data string
	HTTP string
	// NATSListen is where the broker listens, empty for nowhere.
	NATSListen string
	// SyncInterval is 0 for syncing every write.
	SyncInterval    time.Duration
	TLSCert, TLSKey string
	// Plaintext says that TLS ends before this engine; NoAuth that it asks for no token.
	Plaintext, NoAuth bool
	// PublicURL is where this engine is reached from elsewhere, empty for nowhere.
	PublicURL  string
	Sandbox    confine.Level
	Clock      clockSettings
	UntilIdle  bool
	URL, As    string
	Connectors Connectors
	Policies   schedule.Policies

	Origin origin
}

// Settings comes to the settings of an engine, with the secrets of its connectors.
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

// Merge puts flags (which the environment has filled already) over the configuration file.
func (r Reader) Merge(file File, flags Engine, untilIdle *bool) (s Settings, err error) {
	s = Settings{
		File:       file.Path,
		Data:       r.DataDir(file.Data),
		HTTP:       cmp.Or(flags.HTTP, file.HTTP, r.HTTP, DefaultHTTP),
		NATSListen: cmp.Or(flags.NATS, file.NATSListen),
		TLSCert:    cmp.Or(flags.TLSCert, file.TLSCert),
		TLSKey:     cmp.Or(flags.TLSKey, file.TLSKey),
		Plaintext:  *cmp.Or(flags.Plain, file.Plaintext, new(bool)),
		NoAuth:     *cmp.Or(flags.NoAuth, file.NoAuth, new(bool)),
		PublicURL:  cmp.Or(flags.Public, file.PublicURL),
		UntilIdle:  *cmp.Or(untilIdle, file.UntilIdle, new(bool)),
		URL:        file.URL,
		As:         file.As,
		Connectors: file.Connectors,
		Policies:   file.Policies,
		Origin:     originOf(file, flags),
	}
	if *cmp.Or(flags.Insecure, file.Insecure, new(bool)) {
		return s, s.Origin.Locate("insecure", exit.Misconfigured("give --tls-cert and --tls-key; or --plaintext if TLS ends before pawl, at a proxy of yours; or listen on 127.0.0.1, with --no-auth if no token is wanted there",
			"insecure is no more: an engine beyond this machine always asks for a token"))
	}
	if s.PublicURL != "" {
		if _, err := auth.ParsePublicURL(s.PublicURL); err != nil {
			return s, s.Origin.Locate("public-url", exit.Misconfigured("write e.g. https://pawl.example.com", "public-url: %v", err))
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

// What sync can be beside a duration.
const (
	syncAlways   = "always"
	syncInterval = "interval"
)

// defaultSyncInterval is the interval of one who names none.
const defaultSyncInterval = time.Second

// parseSync reads `always`, `interval` or a duration, which is the interval; 0 is always.
func parseSync(text string) (time.Duration, error) {
	switch text {
	case syncAlways:
		return 0, nil
	case syncInterval:
		return defaultSyncInterval, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, exit.Misconfigured("write always, interval (every second), or a duration such as 100ms", "sync: %q is neither always nor an interval", text)
	}
	return d, nil
}

func parseSandbox(text string) (confine.Level, error) {
	level, err := confine.ParseLevel(cmp.Or(text, string(confine.Offered())))
	if err != nil {
		return level, exit.Misconfigured("full is everything this program knows; none takes what the machine offers", "require-sandbox: %v", err)
	}
	return level, nil
}
