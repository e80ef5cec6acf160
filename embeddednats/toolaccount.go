package embeddednats

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// users lists the users of a tool's account: the tool itself, the engine that calls it, and the others that may.
func (t Tool) users(prefix, password string, callers []User) []User {
	account := toolAccount + t.Name
	// Only with a queue group (the second word): without one two instances could both carry out one request.
	subscribe := []string{prefix + ".tool." + t.Name + ".> >"}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		subscribe = append(subscribe, "$SRV."+verb, "$SRV."+verb+"."+t.Name, "$SRV."+verb+"."+t.Name+".*")
	}
	list := []User{
		{Name: toolUser + t.Name, Password: t.Password, Account: account, Publish: []string{anyInbox}, Subscribe: subscribe},
		calls(OfTool(callingUser, t.Name), prefix, password, account, t.Name+".>"),
	}
	for _, u := range callers {
		if u.EachTool {
			u.Name, u.Account = OfTool(u.Name, t.Name), account
			list = append(list, u)
		}
	}
	return list
}

// OfTool is the name of a user in the account of a tool: see [User.EachTool].
func OfTool(user, tool string) string { return user + "-" + tool }

// SetTools lets these tools in and no others. Connections of a tool that is not among them any more, or that has
// another password now, have ended when it returns. It fails for a tool without a name that fits or without a
// password.
func (s *Server) SetTools(tools []Tool) error {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	wanted := make(map[string]Tool, len(tools))
	for _, t := range tools {
		if !toolName().MatchString(t.Name) || t.Password == "" {
			return fmt.Errorf("let in tool %.80q: it needs a name and a password", t.Name)
		}
		wanted[t.Name] = t
	}
	for name, before := range s.tools {
		if wanted[name] == before {
			continue
		}
		for _, u := range before.users(s.prefix, s.password, s.users) {
			s.auth.dismiss(u.Name)
		}
		delete(s.tools, name)
		// All that were let in are known by now: see authenticator.
		if err := s.disconnect(toolUser+name, toolAccount+name); err != nil {
			return fmt.Errorf("end the connections of tool %s: %w", name, err)
		}
	}
	for name, t := range wanted {
		if _, known := s.tools[name]; known {
			continue
		}
		for _, u := range t.users(s.prefix, s.password, s.users) {
			if err := s.letIn(u); err != nil {
				return fmt.Errorf("let in tool %s: %w", name, err)
			}
		}
		s.tools[name] = t
	}
	return nil
}

// ConnectTool opens an in-process connection that calls a tool with a user of its own. Errors are those of Connect.
func (s *Server) ConnectTool(tool string, opts ...nats.Option) (*nats.Conn, error) {
	return s.connect(OfTool(callingUser, tool), toolsInbox, opts...)
}

// Connected counts the connections of a tool's user. It fails when the server cannot list its connections.
func (s *Server) Connected(tool string) (int, error) {
	found, err := s.connections(toolUser+tool, toolAccount+tool)
	return len(found), err
}

func (s *Server) disconnect(user, account string) error {
	found, err := s.connections(user, account)
	for _, id := range found {
		_ = s.nats.DisconnectClientByID(id) // an error says that it has gone by itself
	}
	return err
}

// connections are the ids of a user's connections.
func (s *Server) connections(user, account string) ([]uint64, error) {
	var ids []uint64
	for {
		page, err := s.nats.Connz(&server.ConnzOptions{Username: true, User: user, Account: account, Offset: len(ids),
			Limit: 1024})
		if err != nil {
			return ids, fmt.Errorf("list the connections of NATS user %s: %w", user, err)
		}
		for _, c := range page.Conns {
			ids = append(ids, c.Cid)
		}
		if len(page.Conns) == 0 || len(ids) >= page.Total {
			return ids, nil
		}
	}
}
