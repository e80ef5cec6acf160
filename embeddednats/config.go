package embeddednats

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// DefaultMaxPayload is the largest message in bytes that the server takes by default: a
// transition of the largest size with room for its headers.
const DefaultMaxPayload = 8 << 20

// maxSubscriptions bounds what one connection may subscribe to: each costs memory of the engine's process.
const maxSubscriptions = 10_000

// startTimeout bounds how long a start may take when its context has no deadline. A store is
// read again from its blocks after a kill: about a third of a second per million messages.
const startTimeout = 5 * time.Minute

// Config configures a Server.
type Config struct {
	// StoreDir holds the streams and the lock. It is created if missing. Required.
	StoreDir string
	// SyncInterval is the opt-out from durability: zero, the default, syncs every write before it
	// is acknowledged; otherwise writes are synced this often, and what was acknowledged since
	// the last sync is lost when the machine (not only the process) dies.
	SyncInterval time.Duration
	// ListenAddr is the `host:port` to listen on for clients; port 0 takes a free one. Empty: no
	// listener, only in-process connections.
	ListenAddr string
	// TLS is what the listener requires of its clients; nil means none. In-process connections need none.
	TLS *tls.Config
	// Users may connect to the listener. Required with ListenAddr unless Insecure.
	Users []User
	// Prefix is the first token of the subjects that the engine's services answer on; empty means "pawl".
	Prefix string
	// Insecure allows a listener without users: every client may do everything.
	Insecure bool
	// MaxPayload in bytes; 0 means DefaultMaxPayload.
	MaxPayload int32
	// JetStreamMaxStore limits what JetStream stores, in bytes, so that a write to a full store is refused with a
	// message before the disk is full. 0 leaves it to the server: three quarters of the free space.
	JetStreamMaxStore int64
	// Name is the server's name; empty takes a random one. In a cluster it is required, unique, and stays the same as
	// long as the data does: the other servers know the data by it.
	Name string
	// Cluster makes the server part of a JetStream cluster; nil means standalone. The data of one mode is refused in the
	// other before the server starts ([ErrStandaloneData], [ErrClusterData]).
	Cluster *Cluster
	// Trust is asked for consent where a stream's metadata does not match its checksum and no copy of its newest state is
	// left. takes tells a person what is used after consent: the metadata as it is, or an older copy. Without consent, or
	// without Trust, the server does not serve the stream (Server.Unserved). With an error Start fails.
	Trust func(stream, takes string) (bool, error)
	// Disposable streams are removed where their metadata does not match its checksum.
	Disposable []string
	// Logger receives the server's warnings and errors, and its notices at debug level; nil
	// discards them.
	Logger *slog.Logger
}

func (c Config) options(auth *authenticator) (*server.Options, error) {
	if c.StoreDir == "" {
		return nil, errors.New("configure embedded NATS: StoreDir is empty")
	}
	if c.SyncInterval < 0 {
		return nil, fmt.Errorf("configure embedded NATS: SyncInterval %s is negative", c.SyncInterval)
	}
	o := &server.Options{
		ServerName:             c.Name,
		JetStream:              true,
		StoreDir:               c.StoreDir,
		SyncAlways:             c.SyncInterval == 0,
		SyncInterval:           c.SyncInterval,
		JetStreamMaxStore:      c.JetStreamMaxStore,
		MaxPayload:             c.MaxPayload,
		DisableJetStreamBanner: true,
		NoSigs:                 true,
		DontListen:             c.ListenAddr == "",
		MaxSubs:                maxSubscriptions,
		// The engine needs a consumer for each of its reads, so there is no limit here. The consumers of readers
		// are counted where they are made. An earlier version let readers make too many: its log must open all
		// the same.
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
	}
	if o.MaxPayload <= 0 {
		o.MaxPayload = DefaultMaxPayload
	}
	if c.ListenAddr != "" {
		host, port, err := hostPort(c.ListenAddr)
		if err != nil {
			return nil, fmt.Errorf("configure embedded NATS: listen address: %w", err)
		}
		o.Host, o.Port = host, port
		if len(c.Users) == 0 && !c.Insecure {
			return nil, fmt.Errorf("configure embedded NATS: listening on %s needs users; "+
				"listening without authentication must be asked for", c.ListenAddr)
		}
		o.TLSConfig = c.TLS
	}
	if c.Cluster != nil && c.ListenAddr == "" {
		// The server opens its routes only after its client listener, so there must be one. It has no users.
		o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	}
	// In-process connections authenticate too: that is how they come to their accounts.
	o.CustomClientAuthentication = auth
	seen := make(map[string]bool)
	for _, u := range c.Users {
		if isInternal(u.Name) || toolOf(u.Name) != "" {
			return nil, fmt.Errorf("configure embedded NATS: the user name %q is taken by the engine itself", u.Name)
		}
		if u.Name == "" || u.Password == "" || seen[u.Name] {
			return nil, fmt.Errorf("configure embedded NATS: user %q needs a name of its own and a password", u.Name)
		}
		seen[u.Name] = true
	}
	if c.Cluster != nil {
		if err := c.Cluster.apply(o); err != nil {
			return nil, fmt.Errorf("configure embedded NATS cluster: %w", err)
		}
	}
	return o, nil
}

func (c Config) addresses() []string {
	var list []string
	if c.ListenAddr != "" {
		list = append(list, c.ListenAddr)
	}
	if c.Cluster != nil {
		list = append(list, c.Cluster.Listen)
	}
	return list
}

// toolOf is the tool whose user has the name; empty for none.
func toolOf(user string) string {
	if tool, is := strings.CutPrefix(user, toolUser); is {
		return tool
	}
	return ""
}
