package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/replay"
)

// Restore is `pawl restore`: make a log of a backup.
type Restore struct {
	config.ServerFlags
	Dir        string `arg:"" type:"existingdir" help:"The backup."`
	Partitions int    `placeholder:"N" help:"In how many partitions the log is kept from now on; else in as many as before, and in a cluster 16."`
	Replicas   int    `placeholder:"N" help:"In a cluster: how many servers keep each part (3 where the servers are a cluster, else 1)."`
	NamesKnown bool   `help:"Say that no workflow was made after the backup. Otherwise one that the backup does not know is held at its first deploy."`
	As         string `placeholder:"NAME" setting:"" help:"Your name, for the record ($USER)."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// Help says what a restore does.
func (*Restore) Help() string {
	return "The log is made in the data directory, which must hold none, and is as it was when the backup was made. " +
		"What was done after that is not known to it. So each workflow is paused until you resume it, and each named " +
		"token is revoked. With --nats, or --data of a node that waits for the log of its cluster, the log is made " +
		"there, in the place of pawl cluster init. A restore that was interrupted goes on when it is repeated. It is " +
		"refused while the engine whose log was copied answers."
}

// maxPartitions is the largest number of partitions of a log.
const maxPartitions = 1024

// Run restores into the data directory.
func (c *Restore) Run(ctx context.Context, screen term.Screen, conf config.Reader, with storage.Parts) error {
	if c.Partitions < 0 || c.Partitions > maxPartitions {
		return exit.Misconfigured("write e.g. --partitions 16", "%d partitions: must be 1 to %d", c.Partitions, maxPartitions)
	}
	folder, err := backup.Open(c.Dir)
	switch {
	case errors.Is(err, backup.ErrNoBackup):
		return exit.Failed("name a folder that pawl backup has made", err)
	case replay.Damaged(err):
		return exit.Failed("nothing was changed; take another copy of the backup", err)
	case err != nil:
		return exit.Failed("", err)
	}
	defer func() { _ = folder.Close() }()
	actor := c.As
	if actor == "" {
		actor = conf.As()
	}
	result, err := c.restore(ctx, screen, conf, with, folder, storage.Restoration{
		Actor: config.ActorNamed(actor), Partitions: c.Partitions, NamesKnown: c.NamesKnown,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		document, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("print what was restored: %w", err)
		}
		return screen.JSON(document)
	}
	for _, name := range result.Paused {
		fmt.Fprintf(screen.Out, "%s is paused: what it did after %s is not known here. Start the engine, look with pawl why "+
			"%s and at the other side, then: pawl resume %s\n", name, folder.TakenAt, name, name)
	}
	for _, name := range result.Archived {
		fmt.Fprintf(screen.Out, "%s is archived, as it was\n", name)
	}
	if result.TokensRevoked > 0 {
		fmt.Fprintf(screen.Out, "%s revoked, since a revocation may be missing in the backup; make new ones: pawl tokens "+
			"create NAME --role ROLE\n", term.Plural(result.TokensRevoked, "named token"))
	}
	if !c.NamesKnown {
		fmt.Fprintln(screen.Out, "a workflow that the backup does not know is held (loss) at its first deploy: it may have "+
			"been there before. If you know that none was, say so with the engine stopped: pawl verify --accept-loss "+
			"--names-known")
	}
	fmt.Fprintf(screen.Out, "%s in %s: restored\n", term.Plural(result.Transitions, "transition"),
		term.Plural(result.Partitions, "partition"))
	return nil
}

// restore makes the log in a cluster if its servers are named or a node of it runs on the data directory, else in that
// directory.
func (c *Restore) restore(ctx context.Context, screen term.Screen, conf config.Reader, with storage.Parts,
	folder *backup.Folder, wish storage.Restoration) (backup.Restored, error) {
	logger := term.Logger(screen)
	begin := func(into string) {
		fmt.Fprintf(screen.Err, "restoring %s of %s into %s\n", term.Plural(folder.Records(), "transition"), folder.TakenAt,
			into)
	}
	at, err := reachCluster(ctx, conf, c.ServerFlags, logger)
	if err != nil {
		return backup.Restored{}, err
	}
	if at != nil {
		defer at.nc.Close()
		begin("the cluster")
		return storage.RestoreShared(ctx, at.nc, logger, folder,
			at.layout(cmp.Or(c.Partitions, storage.SharedPartitions), c.Replicas), wish)
	}
	file, err := conf.ReadConfig()
	if err != nil {
		return backup.Restored{}, err
	}
	s, err := conf.Merge(file, config.Engine{}, nil)
	if err != nil {
		return backup.Restored{}, err
	}
	if file.Cluster != "" { // a log of one engine here would keep the node out of its cluster
		return backup.Restored{}, exit.Misconfigured("start the nodes with pawl serve, which wait for the log, and repeat "+
			"the command; or leave the cluster out of the file, for an engine that is alone",
			"%s says that %s is of a node of the cluster %q, and no node runs there", term.Path(file.Path), term.Path(s.Data),
			file.Cluster)
	}
	s.NATSListen = "" // no engine runs that could answer requests
	begin(term.Path(s.Data))
	return storage.Restore(ctx, s, with, logger, folder, wish)
}
