package config

import "github.com/pawl-run/pawl/engine/schedule"

// Common are the flags of every command.
type Common struct {
	Config  string `placeholder:"FILE" type:"path" setting:"" help:"Configuration file; else pawl.yaml here or in the data directory."`
	Profile string `placeholder:"NAME" setting:"" help:"Profile of the configuration file: its settings replace those of the rest of the file."`
	Data    string `placeholder:"DIR" type:"path" setting:"" help:"Data directory (.pawl)."`
}

// Engine are the flags of the commands that run an engine.
type Engine struct {
	HTTP     string         `name:"http" placeholder:"ADDR" setting:"" help:"Address to answer on (127.0.0.1:7070); :0 takes a free port."`
	Maildir  string         `placeholder:"DIR" type:"path" setting:"" help:"Folder with mail for the maildir connector."`
	Files    string         `placeholder:"DIR" type:"path" setting:"" help:"Folder for the files connector."`
	CSV      string         `name:"csv" placeholder:"DIR" type:"path" setting:"" help:"Folder with sheets for the csv connector."`
	Sync     string         `placeholder:"always|interval|DURATION" setting:"" help:"When writes reach the disk (always); interval, which is every second, or a duration like 100ms is faster and loses that much with the power."`
	TLSCert  string         `name:"tls-cert" placeholder:"FILE" type:"path" setting:"" help:"Certificate to answer with, PEM."`
	TLSKey   string         `name:"tls-key" placeholder:"FILE" type:"path" setting:"" help:"Its key, PEM."`
	NATS     string         `name:"nats-listen" placeholder:"ADDR" setting:"" help:"Address for tools, subscribers and operators over NATS (none), e.g. 127.0.0.1:4222; :0 takes a free port."`
	Hooks    string         `name:"hooks-listen" placeholder:"ADDR" setting:"" help:"A further address, at which hooks alone are answered (none), e.g. 127.0.0.1:7080; :0 takes a free port."`
	Feed     *bool          `setting:"" help:"Publish each fact of the log to the stream PAWL_FEED, for subscribers over NATS."`
	FeedSize *schedule.Size `name:"feed-bytes" placeholder:"SIZE" setting:"" help:"How much of the feed is kept (1GiB, or an eighth of what the disk has for pawl); the oldest goes first."`
	Traces   string         `placeholder:"URL|env" setting:"" help:"Send traces of runs to this OpenTelemetry collector (none), OTLP over HTTP, e.g. http://127.0.0.1:4318; env takes OTEL_EXPORTER_OTLP_ENDPOINT."`
	Sample   *float64       `name:"traces-sample" placeholder:"0..1" setting:"" help:"Which part of the traces that begin here is made (1)."`
	Sandbox  string         `name:"require-sandbox" placeholder:"full|partial|none" setting:"" help:"Refuse to run scripts in processes that are confined less (full where the system offers it, else none)."`
	Plain    *bool          `name:"plaintext" setting:"" help:"Answer beyond this machine unencrypted: TLS ends before pawl, at a proxy of yours."`
	NoAuth   *bool          `name:"no-auth" setting:"" help:"Ask callers for no token; on loopback only. Every user and program of this machine may then do everything."`
	Public   string         `name:"public-url" placeholder:"URL" setting:"" help:"Address under which this engine is reached from elsewhere, such as https://pawl.example.com; its host is answered to."`
	Insecure *bool          `setting:"" hidden:"" help:"Of the first release; now --plaintext or --no-auth."`
	Clock    string         `placeholder:"system|manual" setting:"" help:"The clock that schedules and waits follow (system); a manual clock is moved by pawl clock advance."`
	Start    string         `name:"clock-start" placeholder:"RFC3339" setting:"" help:"The time at which a manual clock starts, on empty data only; later it goes on where it stopped."`
}
