package builtin

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
	"github.com/pawl-run/pawl/engine/connector/files"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/maildir"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
)

// Open makes the compiled-in connectors that are configured. onClose is given what closes them; parser makes
// the process that takes mails apart, nil is this program again.
func Open(
	c config.Connectors, parser func() *exec.Cmd, logger *slog.Logger, onClose func(func() error),
) (*connector.Registry, error) {
	type closing interface {
		connector.Connector
		Close() error
	}
	var list []connector.Connector
	add := func(made closing, err error) error {
		if err == nil {
			list = append(list, made)
			onClose(made.Close)
		}
		return err
	}
	if c.Maildir != nil {
		if parser == nil {
			parser = mailParser
		}
		made, err := maildir.New(maildir.Config{Root: c.Maildir.Root, Timeout: c.Maildir.Timeout, Parser: parser,
			Logger: logger})
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.Files != nil {
		made, err := files.New(files.Config{Root: c.Files.Root, Timeout: c.Files.Timeout})
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.CSV != nil {
		made, err := csv.New(csv.Config{Root: c.CSV.Root, Timeout: c.CSV.Timeout})
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.HTTP != nil {
		made, err := httpcall.New(*c.HTTP)
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.SMTP != nil {
		made, err := smtp.New(*c.SMTP)
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.SQL != nil {
		made, err := sqlcall.New(*c.SQL)
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	registry, err := connector.NewRegistry(list...)
	if err != nil {
		return nil, err
	}
	advice := maps.Clone(Advice)
	for _, made := range list {
		delete(advice, made.Name())
	}
	registry.Advise(advice)
	return registry, nil
}

// Unconfigured makes all compiled-in connectors, only to be asked what they offer: a check without
// an engine calls nothing.
func Unconfigured() (*connector.Registry, func() error, error) {
	nowhere := &config.Root{Root: os.TempDir()}
	var closers []func() error
	registry, err := Open(config.Connectors{
		Maildir: nowhere, Files: nowhere, CSV: nowhere,
		HTTP: &httpcall.Config{Hosts: map[string]httpcall.HostConfig{"localhost": {}}, HostsUnknown: true},
		SMTP: &smtp.Config{Server: "localhost:25", From: []string{"pawl@localhost"}},
		SQL: &sqlcall.Config{Databases: map[string]sqlcall.DatabaseConfig{
			"none": {File: filepath.Join(os.TempDir(), "none.db")}}},
	}, nil, nil, func(end func() error) { closers = append(closers, end) })
	return registry, func() error {
		var errs []error
		for _, end := range slices.Backward(closers) {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}, err
}
