package client

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

// ConnectTool connects to the NATS listener of the engine that runs on the data directory, in the account of the tool.
func ConnectTool(conf config.Reader, tool string) (natsservice.ConnectFunc, error) {
	dir, err := NATSFolder(conf)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, datadir.NATSCaller+".url")
	unreachable := func(err error) error {
		return &exit.Failure{Code: exit.CodeUnreachable, What: "no engine with a NATS listener runs on this data directory",
			Err:  err,
			Hint: "start one: pawl up --nats-listen 127.0.0.1:4222; or name its directory: --data DIR"}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreachable(err)
	}
	address, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, unreachable(errors.New(path + " holds no URL")) // the parser's error may hold the password
	}
	if _, err := os.Stat(embeddednats.ToolURLFile(dir, tool)); err == nil && connector.ValidateName(tool) == nil {
		password, _ := address.User.Password()
		address.User = url.UserPassword(embeddednats.OfTool(datadir.NATSCaller, tool), password)
	}
	options, err := Pinned(dir)
	if err != nil {
		return nil, unreachable(err)
	}
	connect := natsservice.ConnectURL(address.String(), append(options, nats.CustomInboxPrefix(datadir.CallerInbox))...)
	// The file stays when its engine is killed. A watcher would then wait for the engine, so a connection is tried
	// first.
	probe, err := connect(nats.Name("pawl"))
	if err != nil {
		return nil, unreachable(err)
	}
	probe.Close()
	return connect, nil
}

// NATSFolder is the folder with the URLs of the NATS listener.
func NATSFolder(conf config.Reader) (string, error) {
	file, err := conf.ReadConfig()
	if err != nil {
		return "", err
	}
	return filepath.Join(conf.DataDir(file.Data), datadir.NATSDir), nil
}
