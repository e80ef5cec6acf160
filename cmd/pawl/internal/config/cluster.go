package config

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
)

// ClusterFlags are the flags of an engine whose server forms a cluster with others.
type ClusterFlags struct {
	Cluster   string `placeholder:"NAME" setting:"" help:"Form a cluster of this name with other nodes: the log is kept on three of them, and each runs a share of the workflows."`
	Listen    string `name:"cluster-listen" placeholder:"ADDR" setting:"" help:"With --cluster: address for the other nodes, e.g. 10.0.0.1:6222."`
	Routes    string `placeholder:"ADDR,ADDR" setting:"" help:"With --cluster: the addresses of all nodes, as the others reach them."`
	Advertise string `name:"cluster-advertise" placeholder:"ADDR" setting:"" help:"With --cluster: the address that other nodes are told, where it is not that of --cluster-listen."`
	TLSCert   string `name:"cluster-tls-cert" placeholder:"FILE" type:"path" setting:"" help:"With --cluster: certificate of this node for the others, PEM; may be left out on loopback alone."`
	TLSKey    string `name:"cluster-tls-key" placeholder:"FILE" type:"path" setting:"" help:"With --cluster: its key, PEM."`
	TLSCA     string `name:"cluster-tls-ca" placeholder:"FILE" type:"path" setting:"" help:"With --cluster: certificate of the authority that signed those of all nodes, PEM."`
}

// Cluster adds to the settings what flags and file say about a cluster, and refuses settings that exclude a cluster.
func (r Reader) Cluster(s *Settings, flags ClusterFlags) error {
	file, err := r.ReadConfig()
	if err != nil {
		return err
	}
	s.Cluster = flags.with(&file)
	return s.checkCluster()
}

// with is the cluster of the file, with each flag that is given in the place of the file's value.
func (f ClusterFlags) with(file *File) (c Cluster) {
	c = Cluster{
		Name: cmp.Or(f.Cluster, file.Cluster), Listen: cmp.Or(f.Listen, file.ClusterListen),
		Advertise: cmp.Or(f.Advertise, file.ClusterAdvertise), TLSCert: cmp.Or(f.TLSCert, file.ClusterTLSCert),
		TLSKey: cmp.Or(f.TLSKey, file.ClusterTLSKey), TLSCA: cmp.Or(f.TLSCA, file.ClusterTLSCA),
	}
	for _, route := range strings.Split(cmp.Or(f.Routes, file.Routes), ",") {
		if route = strings.TrimSpace(route); route != "" {
			c.Routes = append(c.Routes, route)
		}
	}
	return c
}

// checkCluster fails where a setting of the cluster is missing, and where another setting excludes a cluster.
func (s *Settings) checkCluster() error {
	c := s.Cluster
	if !c.On() {
		for _, given := range []struct{ key, value string }{
			{"cluster-listen", c.Listen}, {"routes", strings.Join(c.Routes, ",")}, {"cluster-advertise", c.Advertise},
			{"cluster-tls-cert", c.TLSCert}, {"cluster-tls-key", c.TLSKey}, {"cluster-tls-ca", c.TLSCA},
		} {
			if given.value != "" {
				return s.Origin.Locate(given.key, exit.Misconfigured("name the cluster too: --cluster NAME",
					"%s is for a node of a cluster, and no cluster is named", given.key))
			}
		}
		return nil
	}
	switch {
	case s.Servers.URL != "":
		return exit.Misconfigured("leave one of them out: with --nats the servers are your own, with --cluster in pawl",
			"--cluster and --nats exclude each other")
	case s.Servers.Node == "":
		return exit.Misconfigured("give each node a name that it keeps for as long as its data: --node NAME",
			"--cluster needs --node")
	case c.Listen == "":
		return exit.Misconfigured("say where the other nodes reach this one: --cluster-listen 10.0.0.1:6222",
			"--cluster needs --cluster-listen")
	case len(c.Routes) == 0:
		return exit.Misconfigured("list the addresses of all nodes: --routes 10.0.0.1:6222,10.0.0.2:6222,10.0.0.3:6222",
			"--cluster needs --routes")
	case s.Clock.Manual:
		return exit.Misconfigured("leave --clock out", "engines that share their work follow the clocks of their machines")
	case s.UntilIdle:
		return exit.Misconfigured("leave --until-idle out", "an engine that shares its work does not know when all is idle")
	case s.SyncInterval > 0:
		return exit.Misconfigured("leave --sync out", "the servers of a cluster sync each write before they acknowledge it")
	}
	for _, place := range []struct{ key, address string }{{"cluster-listen", c.Listen},
		{"cluster-advertise", c.Advertise}} {
		if err := checkAddress(place.address); place.address != "" && err != nil {
			return s.Origin.Locate(place.key, exit.Misconfigured("write e.g. 10.0.0.1:6222", "%s: %v", place.key, err))
		}
	}
	for _, route := range c.Routes {
		if err := checkAddress(route); err != nil {
			return s.Origin.Locate("routes", exit.Misconfigured("write e.g. 10.0.0.1:6222,10.0.0.2:6222", "routes: %v", err))
		}
	}
	if files := []string{c.TLSCert, c.TLSKey, c.TLSCA}; slices.Contains(files, "") && strings.Join(files, "") != "" {
		return exit.Misconfigured("give all three: --cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca",
			"certificate, key and authority of a node belong together")
	}
	return nil
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		err = CheckPort(port)
	}
	return err
}

// Embedded is the cluster as the server inside of pawl has it; nil for a server that is alone. It fails when a file of
// the TLS cannot be read.
func (c Cluster) Embedded() (*embeddednats.Cluster, error) {
	if !c.On() {
		return nil, nil
	}
	e := &embeddednats.Cluster{Name: c.Name, Listen: c.Listen, Routes: c.Routes, Advertise: c.Advertise}
	if c.TLSCert == "" {
		return e, nil
	}
	var err error
	if e.TLS, err = embeddednats.ClusterTLS(c.TLSCert, c.TLSKey, c.TLSCA); err != nil {
		return nil, exit.Misconfigured("correct --cluster-tls-cert, --cluster-tls-key or --cluster-tls-ca", "%v", err)
	}
	return e, nil
}
