package storage

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
)

// cluster makes the server inside of this process a node of the configured cluster, if there is one.
func cluster(s config.Settings, c *embeddednats.Config) (err error) {
	if c.Cluster, err = s.Cluster.Embedded(); err == nil && c.Cluster != nil {
		c.Name = s.Servers.Node
	}
	return err
}

// clusterRefused explains why a server cannot be a node of a cluster, or cannot be alone.
func clusterRefused(err error) (explained error, ok bool) {
	switch {
	case errors.Is(err, embeddednats.ErrStandaloneData):
		return exit.Failed("start it without --cluster as before, or give this node a directory of its own: --data DIR; "+
			"pawl backup copies what is there, and pawl restore makes the cluster's log of that", err), true
	case errors.Is(err, embeddednats.ErrClusterData):
		return exit.Failed("start it as the node that it was, or give this pawl a directory of its own: --data DIR",
			err), true
	case errors.Is(err, embeddednats.ErrClusterPlain):
		return exit.Misconfigured("give --cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca", "%v", err), true
	}
	return nil, false
}

// writeLocal writes down how commands on this machine, such as pawl cluster init, reach the servers of the cluster
// while this node runs.
func writeLocal(server *embeddednats.Server, data string, opened *Closers) error {
	dir := filepath.Join(data, datadir.NATSDir)
	if err := server.WriteLocalURLs(dir); err != nil {
		return exit.Failed("", err)
	}
	opened.Add(func() error {
		var errs []error
		for _, name := range []string{embeddednats.LocalURL, embeddednats.LocalSystemURL} {
			if err := os.Remove(filepath.Join(dir, name+".url")); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	})
	return nil
}

// LocalCluster is the URL by which commands on this machine reach the servers of the cluster whose node has this data
// directory; empty where no such node runs. With system the URL leads to the system account.
func LocalCluster(data string, system bool) (string, error) {
	name := embeddednats.LocalURL
	if system {
		name = embeddednats.LocalSystemURL
	}
	url, err := os.ReadFile(filepath.Join(data, datadir.NATSDir, name+".url"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(url)), err
}

// RemoveNode takes a node out of the cluster of which a node runs on this data directory.
func RemoveNode(ctx context.Context, data, node string, logger *slog.Logger) error {
	url, err := LocalCluster(data, true)
	if err != nil {
		return exit.Failed("", err)
	}
	if url == "" {
		return exit.Failed("run it where another node of the cluster runs, with the --data of that node",
			errors.New("no node of a cluster runs on "+data))
	}
	nc, err := Dial(config.Servers{URL: url}, "", logger)
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := embeddednats.Remove(ctx, nc, node); err != nil {
		return exit.Failed("pawl cluster status lists the nodes", err)
	}
	return nil
}
