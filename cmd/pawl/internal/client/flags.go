package client

// Flags are the flags of the commands that talk to an engine.
type Flags struct {
	URL  string `name:"url" placeholder:"URL" setting:"" help:"The engine's address; else the one in DATA/http.url, else http of pawl.yaml, else 127.0.0.1:7070."`
	NATS string `name:"nats" placeholder:"URL|@FILE" setting:"" help:"Reach the engine over NATS instead: the URL of its operators, which holds a password, or @ and the file with it; an engine with --nats-listen writes DATA/nats/operator.url."`
	As   string `placeholder:"NAME" setting:"" help:"Your name, for the record ($USER)."`
	JSON bool   `name:"json" help:"Print JSON, as the HTTP interface answers it; lists begin with the newest (order=desc)."`
}
