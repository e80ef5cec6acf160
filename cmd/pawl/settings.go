package main

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
	defaultData = ".pawl"
	defaultHTTP = "127.0.0.1:7070"
)

// common are the flags of every command.
type common struct {
	Config string `placeholder:"FILE" type:"path" setting:"" help:"Configuration file; else pawl.yaml here or in the data directory."`
	Data   string `placeholder:"DIR" type:"path" setting:"" help:"Data directory (.pawl)."`
}

// engineFlags are the flags of the commands that run an engine.
type engineFlags struct {
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

// settings are what flags, environment and configuration file come to.
type settings struct {
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
	Connectors connectorSettings
	Policies   schedule.Policies

	origin origin
}

// settle comes to the settings of an engine, with the secrets of its connectors.
func (r reader) settle(flags engineFlags, untilIdle *bool) (settings, error) {
	file, err := r.readConfig()
	if err != nil {
		return settings{}, err
	}
	if err := file.expand(r.Env); err != nil {
		return settings{}, err
	}
	return r.merge(file, flags, untilIdle)
}

// merge puts flags (which the environment has filled already) over the configuration file.
func (r reader) merge(file config, flags engineFlags, untilIdle *bool) (s settings, err error) {
	s = settings{
		File:       file.path,
		Data:       r.dataDir(file.Data),
		HTTP:       first(flags.HTTP, file.HTTP, r.HTTP, defaultHTTP),
		NATSListen: first(flags.NATS, file.NATSListen),
		TLSCert:    first(flags.TLSCert, file.TLSCert),
		TLSKey:     first(flags.TLSKey, file.TLSKey),
		Plaintext:  *cmp.Or(flags.Plain, file.Plaintext, new(bool)),
		NoAuth:     *cmp.Or(flags.NoAuth, file.NoAuth, new(bool)),
		PublicURL:  first(flags.Public, file.PublicURL),
		UntilIdle:  *cmp.Or(untilIdle, file.UntilIdle, new(bool)),
		URL:        file.URL,
		As:         file.As,
		Connectors: file.Connectors,
		Policies:   file.Policies,
		origin:     originOf(file, flags),
	}
	if *cmp.Or(flags.Insecure, file.Insecure, new(bool)) {
		return s, s.origin.locate("insecure", exit.Misconfigured("give --tls-cert and --tls-key; or --plaintext if TLS ends before pawl, at a proxy of yours; or listen on 127.0.0.1, with --no-auth if no token is wanted there",
			"insecure is no more: an engine beyond this machine always asks for a token"))
	}
	if s.PublicURL != "" {
		if _, err := auth.ParsePublicURL(s.PublicURL); err != nil {
			return s, s.origin.locate("public-url", exit.Misconfigured("write e.g. https://pawl.example.com", "public-url: %v", err))
		}
	}
	if s.Sandbox, err = parseSandbox(first(flags.Sandbox, file.Sandbox)); err != nil {
		return s, err
	}
	if s.SyncInterval, err = parseSync(first(flags.Sync, file.Sync, syncAlways)); err != nil {
		return s, err
	}
	clock := first(flags.Clock, file.Clock, clockSystem)
	if _, err = parseClock(clock, ""); err != nil {
		return s, err
	}
	if s.Clock, err = parseClock(clock, first(flags.Start, file.ClockStart)); err != nil {
		return s, s.origin.locate("clock-start", err)
	}
	s.Connectors.setRoot(&s.Connectors.Maildir, first(flags.Maildir, file.Maildir))
	s.Connectors.setRoot(&s.Connectors.Files, first(flags.Files, file.Files))
	s.Connectors.setRoot(&s.Connectors.CSV, first(flags.CSV, file.CSV))
	if s.Data, err = filepath.Abs(s.Data); err != nil {
		return s, exit.Failed("", err)
	}
	return s, nil
}

// first returns the first value that is set.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
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
	level, err := confine.ParseLevel(first(text, string(confine.Offered())))
	if err != nil {
		return level, exit.Misconfigured("full is everything this program knows; none takes what the machine offers", "require-sandbox: %v", err)
	}
	return level, nil
}
