package lease

import (
	"log/slog"
	"time"
)

// Config of a Keeper. Bucket, Partitions and Node are required.
type Config struct {
	Bucket     Bucket
	Partitions int
	// Engine is the name of this process; no other process, not even an earlier one, has the same. Where it is empty,
	// the keeper makes one up.
	Engine string
	// Node is the name of this engine's node, URL where it takes requests for its partitions.
	Node, URL string
	// Version and Format are what the others are told of this program.
	Version string
	Format  int
	// Renew is how often a lease is renewed; 0 means 2 s. A lease is held for 7.5 times as long, and another engine takes
	// it after 10 times as long. All engines of a cluster must have the same. A cluster of several servers has no leader
	// for up to 8 s now and then.
	Renew time.Duration
	// Elapsed is a clock that cannot be set; clock.Elapsed when nil.
	Elapsed func() time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

const (
	// renewEvery is how often an owner renews, and how often the others look, where Config does not say otherwise.
	renewEvery = 2 * time.Second
	// holdFor is how long an owner holds the lease then, after it sent a renewal that was acknowledged.
	holdFor = 15 * time.Second
	// takeAfter is how long another engine must have seen an entry unchanged then, before it takes it.
	takeAfter = 20 * time.Second
)

// holdFor is how long an owner holds the lease after it sent a renewal that was acknowledged.
func (c *Config) holdFor() time.Duration { return c.Renew * 15 / 2 }
