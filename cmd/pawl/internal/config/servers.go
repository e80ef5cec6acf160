package config

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// ServerFlags are the flags of the commands that work on NATS servers of one's own.
type ServerFlags struct {
	NATS     string `name:"nats" placeholder:"URL,URL" help:"Keep the log on these NATS servers (2.12 or newer), and share it with the other engines there; the URL may hold user and password, or a token. In pawl.yaml: servers."`
	Creds    string `placeholder:"FILE" type:"path" setting:"" help:"With --nats: the credentials of the engines' account there."`
	SysCreds string `name:"nats-sys-creds" placeholder:"FILE" type:"path" setting:"" help:"With --nats: credentials of the servers' system account, to see whether they sync each write."`
}

// NodeFlags name an engine among those that share a log.
type NodeFlags struct {
	Node string `placeholder:"NAME" setting:"" help:"Name of this engine among those that share the log (the machine's name)."`
}

// nodeName is what the name of a node may be: it becomes part of a key in NATS.
var nodeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
})

// SharedSettings are Settings, with the NATS servers that keep the log if any are named.
func (r Reader) SharedSettings(flags Engine, servers ServerFlags, node NodeFlags, untilIdle *bool) (Settings, error) {
	file, err := r.ReadConfig()
	if err != nil {
		return Settings{}, err
	}
	if err := file.Expand(r.Env); err != nil {
		return Settings{}, err
	}
	s, err := r.Merge(file, flags, untilIdle)
	if err != nil {
		return s, err
	}
	s.Servers = Servers{
		URL: cmp.Or(servers.NATS, file.Servers), Creds: cmp.Or(servers.Creds, file.Creds),
		SysCreds: cmp.Or(servers.SysCreds, file.SysCreds), Node: cmp.Or(node.Node, file.Node),
	}
	return s, s.checkServers()
}

// checkServers refuses settings that exclude servers of one's own.
func (s *Settings) checkServers() error {
	n := &s.Servers
	if n.URL == "" {
		if n.Creds != "" || n.SysCreds != "" {
			return exit.Misconfigured("name the servers too: --nats nats://HOST:4222",
				"creds and nats-sys-creds are for NATS servers of your own, and none are named")
		}
		return nil
	}
	switch {
	case s.NATSListen != "":
		return exit.Misconfigured("leave one of them out: tools and followers connect to those servers",
			"nats-listen is for the server inside of pawl, and the log is kept on servers of your own")
	case s.SyncInterval != 0:
		return exit.Misconfigured("set sync_interval in the servers' configuration; always is what loses nothing",
			"sync is for the server inside of pawl, and the log is kept on servers of your own")
	case s.Clock.Manual:
		return exit.Misconfigured("leave --clock out", "engines that share a log cannot each have a clock of their own")
	}
	if name, ok := strings.CutPrefix(n.URL, "@"); ok {
		text, err := os.ReadFile(name)
		if err != nil {
			return s.Origin.Locate("servers", exit.Misconfigured("correct --nats, or servers in the configuration file",
				"read the URL of the NATS servers: %v", err))
		}
		n.URL = strings.TrimSpace(string(text))
	}
	if n.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			return exit.Misconfigured("give this engine a name: --node NAME", "this machine has no name: %v", err)
		}
		n.Node = host
	}
	if !nodeName().MatchString(n.Node) {
		return s.Origin.Locate("node",
			exit.Misconfigured("write e.g. --node a", "node: %.80q must match %s", n.Node, nodeName()))
	}
	return nil
}
