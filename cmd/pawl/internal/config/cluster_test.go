package config

import (
	"strings"
	"testing"
	"time"
)

// What is missing of a node of a cluster, or cannot be together with it, is refused with a word of what to do.
func TestClusterSettings(t *testing.T) {
	whole := func(change func(*Settings)) Settings {
		s := Settings{Servers: Servers{Node: "a"}, Cluster: Cluster{Name: "c", Listen: "127.0.0.1:6222",
			Routes: []string{"127.0.0.1:6222", "127.0.0.1:6223"}}}
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		want   string // in the error; empty for none
	}{
		"whole":          {func(*Settings) {}, ""},
		"alone":          {func(s *Settings) { *s = Settings{} }, ""},
		"no cluster":     {func(s *Settings) { s.Cluster.Name = "" }, "no cluster is named"},
		"no node":        {func(s *Settings) { s.Servers.Node = "" }, "--cluster needs --node"},
		"no listen":      {func(s *Settings) { s.Cluster.Listen = "" }, "--cluster needs --cluster-listen"},
		"no routes":      {func(s *Settings) { s.Cluster.Routes = nil }, "--cluster needs --routes"},
		"no port":        {func(s *Settings) { s.Cluster.Listen = "a.example.com" }, "cluster-listen: "},
		"a wrong route":  {func(s *Settings) { s.Cluster.Routes[1] = "b.example.com:99999" }, "routes: "},
		"half of TLS":    {func(s *Settings) { s.Cluster.TLSCert = "a.crt" }, "belong together"},
		"servers of own": {func(s *Settings) { s.Servers.URL = "nats://h:4222" }, "exclude each other"},
		"not synced":     {func(s *Settings) { s.SyncInterval = time.Second }, "sync each write"},
		"a manual clock": {func(s *Settings) { s.Clock.Manual = true }, "clocks of their machines"},
		"until idle":     {func(s *Settings) { s.UntilIdle = true }, "when all is idle"},
	} {
		s := whole(c.change)
		switch err := s.checkCluster(); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Flags are stronger than the file.
func TestClusterFlags(t *testing.T) {
	file := File{Cluster: "c", ClusterListen: "127.0.0.1:1", Routes: "127.0.0.1:1, 127.0.0.1:2,"}
	got := ClusterFlags{Listen: "127.0.0.1:3"}.with(&file)
	if got.Name != "c" || got.Listen != "127.0.0.1:3" || strings.Join(got.Routes, " ") != "127.0.0.1:1 127.0.0.1:2" {
		t.Errorf("%+v", got)
	}
}

// The example of a node is one that can be started.
func TestClusterExample(t *testing.T) {
	file, err := LoadFile("../../packaging/cluster.yaml", true, "")
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Servers: Servers{Node: file.Node}, Cluster: ClusterFlags{}.with(&file)}
	if err := s.checkCluster(); err != nil || len(s.Cluster.Routes) != 3 || s.Cluster.TLSCA == "" {
		t.Errorf("%+v: %v", s, err)
	}
}
