package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

// callerInbox is where the commands of this program get their answers: it is no other user's.
const callerInbox = "_INBOX." + natsCaller

// connectTool connects to the NATS listener of the engine that runs on the data directory, to where the
// tool is.
func connectTool(conf reader, tool string) (natsservice.ConnectFunc, error) {
	dir, err := natsFolder(conf)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, natsCaller+".url")
	unreachable := func(err error) error {
		return &exit.Failure{Code: exit.CodeUnreachable, What: "no engine with a NATS listener runs on this data directory", Err: err,
			Hint: "start one: pawl up --nats-listen 127.0.0.1:4222; or name its directory: --data DIR"}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreachable(err)
	}
	address, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, unreachable(errors.New(path + " holds no URL")) // its words may hold the password
	}
	if _, err := os.Stat(embeddednats.ToolURLFile(dir, tool)); err == nil && connector.ValidateName(tool) == nil {
		password, _ := address.User.Password()
		address.User = url.UserPassword(embeddednats.OfTool(natsCaller, tool), password)
	}
	options, err := pinned(dir)
	if err != nil {
		return nil, unreachable(err)
	}
	connect := natsservice.ConnectURL(address.String(), append(options, nats.CustomInboxPrefix(callerInbox))...)
	// The file outlives its engine, and a watcher would wait for its return.
	probe, err := connect(nats.Name("pawl"))
	if err != nil {
		return nil, unreachable(err)
	}
	probe.Close()
	return connect, nil
}

// natsFolder is where the URLs of the NATS listener are.
func natsFolder(conf reader) (string, error) {
	file, err := conf.readConfig()
	if err != nil {
		return "", err
	}
	return filepath.Join(conf.dataDir(file.Data), natsDir), nil
}
