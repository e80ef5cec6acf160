package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

// callerInbox is where the commands of this program get their answers: a listener's other users
// read below _INBOX.
const callerInbox = "_INBOX_" + natsCaller

// natsCaller connects to the NATS listener of the engine that runs on the data directory.
func (a *app) natsCaller() (natsservice.ConnectFunc, error) {
	file, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(first(a.common.Data, file.Data, defaultData), natsDir, natsCaller+".url")
	unreachable := func(err error) error {
		return &failure{code: exitUnreachable, what: "no engine with a NATS listener runs on this data directory", err: err,
			hint: "start one: pawl up --nats-listen 127.0.0.1:4222; or name its directory: --data DIR"}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreachable(err)
	}
	connect := natsservice.ConnectURL(strings.TrimSpace(string(text)), nats.CustomInboxPrefix(callerInbox))
	// The file outlives its engine, and a watcher would wait for its return.
	probe, err := connect(nats.Name("pawl"))
	if err != nil {
		return nil, unreachable(err)
	}
	probe.Close()
	return connect, nil
}
