package tools

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/ops"
)

// Interval is how often an engine looks which tools have a user: pawl connectors add and pawl connectors remove only
// change files of its data directory.
const Interval = time.Second

// follow admits and dismisses tools as their users are added and removed.
func (s *Tools) follow(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.Admit(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("the users of tools could not be brought up to date", "error", err)
		}
	}
}

// Admit lets in the tools that have a user now, and looks for each on a connection of its own.
func (s *Tools) Admit(ctx context.Context) error {
	list, err := embeddednats.Tools(s.dir)
	s.complain(err)
	if err := s.server.SetTools(list); err != nil {
		return err
	}
	wanted := make(map[string]bool, len(list))
	for _, t := range list {
		wanted[t.Name] = true
		if !s.owned(t.Name) {
			if err := s.meet(ctx, t.Name); err != nil {
				return err
			}
		}
	}
	s.toolsMu.Lock()
	var gone []*natsservice.Watcher
	for name, w := range s.tools {
		if !wanted[name] {
			gone = append(gone, w)
			delete(s.tools, name)
			delete(s.own, name)
			s.logger.Info("a tool has no user of its own any more", "connector", name)
		}
	}
	s.toolsMu.Unlock()
	for _, w := range gone {
		_ = w.Close() // the tool's connections have ended, so its open calls get no answer any more
	}
	return nil
}

// meet begins to look for a tool that has got a user of its own.
func (s *Tools) meet(ctx context.Context, name string) (err error) {
	s.toolsMu.Lock()
	s.own[name] = true // from now on no service of the shared user counts as this tool
	s.toolsMu.Unlock()
	defer func() {
		if err != nil {
			s.toolsMu.Lock()
			defer s.toolsMu.Unlock()
			delete(s.own, name)
		}
	}()
	once, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if _, there := s.registry.Connector(name); there && !slices.Contains(s.builtin, name) {
		refresh(once, []*natsservice.Watcher{s.shared}) // a service of the shared user under this name is dropped now
	}
	connect := func(options ...nats.Option) (*nats.Conn, error) { return s.server.ConnectTool(name, options...) }
	w, err := natsservice.New(natsservice.Config{Connect: connect, Registry: s.registry, Prefix: datadir.NATSPrefix,
		Logger: s.logger, Only: name})
	if err != nil {
		return err
	}
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	s.tools[name] = w
	return nil
}

// owned says whether a tool has a user of its own.
func (s *Tools) owned(name string) bool {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	return s.own[name]
}

// complain says once what is wrong with the files of the tools.
func (s *Tools) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.unread {
		s.logger.Warn("a tool is not let in", "error", text)
	}
	s.unread = text
}

// Users lists the tools with a user of their own.
func (s *Tools) Users() []ops.ToolUser {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	list := []ops.ToolUser{}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		n, err := s.server.Connected(name)
		if err != nil {
			s.logger.Warn("the connections of a tool could not be counted", "connector", name, "error", err)
		}
		list = append(list, ops.ToolUser{Connector: name, Connections: n})
	}
	return list
}
