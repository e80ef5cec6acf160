package embeddednats

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// User is a user of the listener.
type User struct {
	Name, Password string
	// Account is the user's account on the server: it reaches only users of the same account. Empty means the engine's
	// own, where the streams are, unless Streams makes it a reader.
	Account string
	// Publish and Subscribe are the subjects allowed; nil allows all of the account's, an empty list none.
	Publish, Subscribe []string
	// Streams makes the user a reader of these streams: it gets an account of its own, from which it reaches only what
	// it needs to read them. Publish and Subscribe hold within that account.
	Streams []string
	// Apart keeps the connections of the user from one another: each has an account of its own. What the user may
	// publish goes from there to Account, and the answers come back. Publish may not be nil.
	Apart bool
	// EachTool lets the user in to the account of each [Tool] too, as NAME-TOOL.
	EachTool bool
	// Local refuses the user to other machines.
	Local bool
	// Warning is logged when the user connects for the first time; empty for none.
	Warning string
}

// The accounts of the users. The streams are in another one, which only the engine's own connections use.
const (
	// OperatorsAccount is where the service is that answers operators.
	OperatorsAccount = "PAWL_OPERATORS"
	// ConnectorsAccount is where the tools serve that share one user.
	ConnectorsAccount = "PAWL_CONNECTORS"
	// toolAccount, with the tool's name, is the account of one tool.
	toolAccount = "PAWL_TOOL_"
)

// Inboxes. Within an account answers go to inboxes, and to nothing else.
const (
	// engineInbox is for the answers to the engine's connection to its streams.
	engineInbox = "_INBOX_pawl"
	// toolsInbox is for the answers of tools to the engine.
	toolsInbox = "_INBOX.engine"
	// servicesInbox is the inbox of the connection of the engine's service, which asks nothing.
	servicesInbox = "_INBOX.services"
	gateInbox     = "_INBOX_gate"
	systemInbox   = "_INBOX_system"
	anyInbox      = "_INBOX.>"
	// mappedReply is what the server puts in the place of an inbox of another account.
	mappedReply = "_R_.>"
)

// The engine's own users, each for in-process connections to one account. Their passwords are new with
// each start.
const (
	engineUser   = "pawl"
	gateUser     = "pawl-gate"
	servicesUser = "pawl-services"
	// localUser and localSystemUser are those of commands on the machine of a node: see [Server.WriteLocalURLs].
	localUser       = "pawl-local"
	localSystemUser = "pawl-local-system"
	// systemUser asks the servers of a cluster about themselves.
	systemUser = "pawl-system"
	// callingUser, with a tool's name behind it where the tool has an account of its own, calls tools.
	callingUser = "pawl-calls"
)

// The subjects of requests for consumers.
const (
	consumerCreate = "$JS.API.CONSUMER.CREATE."
	// gateSubject is where requests for consumers arrive. No user but the engine's may use it.
	gateSubject = "$PAWL.GATE.CONSUMER.CREATE."
)

// The requests of readers for a list of streams arrive here, with the reader's name at the end. Programs such as the
// nats command look for streams with them. JetStream itself would also list the streams that are not for readers.
const (
	gateStreamNames = "$PAWL.GATE.STREAM.NAMES."
	gateStreamList  = "$PAWL.GATE.STREAM.LIST."
)

func isInternal(name string) bool {
	return name == engineUser || name == gateUser || name == servicesUser || name == systemUser ||
		name == localUser || name == localSystemUser ||
		strings.HasPrefix(name, callingUser)
}

// internal lists the engine's own users but those that are made with a tool.
func internal(prefix, password string) []User {
	return []User{
		{Name: engineUser, Password: password},
		// The gate may publish to fixed subjects only: the server maps its answers to the inboxes of the readers.
		{Name: gateUser, Password: password,
			Publish: []string{consumerCreate + ">", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.LIST.*",
				"$JS.API.CONSUMER.DELETE.*.*", mappedReply},
			Subscribe: []string{gateSubject + ">", gateStreamNames + "*", gateStreamList + "*", gateInbox + ".>"}},
		// A caller chooses the subject of its answer, so it may be one of the caller's own account only.
		{Name: servicesUser, Password: password, Account: OperatorsAccount,
			Publish: []string{mappedReply}, Subscribe: []string{prefix + ".api.>", prefix + ".in.>", "$SRV.>", servicesInbox +
				".>"}},
		calls(callingUser, prefix, password, ConnectorsAccount, ">"),
	}
}

// calls is the user of the connection that calls the tools of an account.
func calls(name, prefix, password, account, tools string) User {
	return User{Name: name, Password: password, Account: account,
		Publish: []string{prefix + ".tool." + tools, "$SRV.>"}, Subscribe: []string{toolsInbox + ".>"}}
}

func (u User) permissions() *server.Permissions {
	if u.Publish == nil && u.Subscribe == nil {
		return nil
	}
	of := func(subjects []string) *server.SubjectPermission {
		switch {
		case subjects == nil:
			return nil
		case len(subjects) == 0:
			return &server.SubjectPermission{Deny: []string{">"}}
		}
		return &server.SubjectPermission{Allow: subjects}
	}
	return &server.Permissions{Publish: of(u.Publish), Subscribe: of(u.Subscribe)}
}

// ownerOnly is the mode of the files: each holds a password.
const ownerOnly = 0o600

func urlFile(dir, name string) string { return filepath.Join(dir, name+".url") }

// savedPassword reads the user's password from a URL file; empty without one.
func savedPassword(dir, file, user string) (string, error) {
	path := urlFile(dir, file)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the password of NATS user %s: %w", user, err)
	}
	// The text of the error is not repeated: it may hold the password.
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err == nil && u.User != nil && u.User.Username() == user {
		if password, ok := u.User.Password(); ok && password != "" {
			return password, nil
		}
	}
	return "", fmt.Errorf("read the password of NATS user %s: %s does not hold a URL like "+
		"nats://%s:password@host:port; delete it to get a new password", user, path, user)
}
