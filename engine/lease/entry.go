package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Entry is what the bucket holds for a partition.
type Entry struct {
	// Engine is the process that holds the partition; empty once it was given back.
	Engine string `json:"engine"`
	// Node is the name of the engine's node, and URL where requests for the owner go.
	Node string `json:"node,omitempty"`
	URL  string `json:"url,omitempty"`
	// Epoch counts how often the partition was taken.
	Epoch uint64 `json:"epoch"`
	// Renewal grows with each write, so that an owner recognises its own.
	Renewal uint64 `json:"renewal,omitempty"`
	// AnswersByEpoch says that the owner takes requests that are for this epoch alone. One of an older version takes those
	// for any.
	AnswersByEpoch bool `json:"answersByEpoch,omitempty"`
}

// Node is what the bucket holds for a node.
type Node struct {
	// Engine is the process that runs there; empty once it has ended.
	Engine  string `json:"engine"`
	URL     string `json:"url,omitempty"`
	Version string `json:"version,omitempty"`
	// Format is the newest format of the log that the node reads.
	Format int `json:"format,omitempty"`
	// Leaving: it gives its partitions back and takes no other ones.
	Leaving bool `json:"leaving,omitempty"`
	// Lacks is why it is Leaving for a time only; empty where it lacks nothing. While no other engine can take
	// partitions, it has a share of them all the same.
	Lacks Shortage `json:"lacks,omitempty"`
	// Outdated: it cannot read the log any more, so it is Leaving for good and goes on without a partition.
	Outdated bool   `json:"outdated,omitempty"`
	Renewal  uint64 `json:"renewal,omitempty"`
}

// Bucket is a table of values that all engines see and change by compare-and-set. The leader answers every read, never
// a replica.
type Bucket interface {
	// Get returns a value and its revision; without an error revision 0 says that there is none.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put writes a value over the one with this revision, 0 for none, and returns the revision it has now. Revision 0
	// without an error means that the value has another revision and nothing was written. After an error it may have been
	// written.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Keys lists the keys that begin with the prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
	// Watch tells the keys of values that were written, until ctx ends. Some may be missing.
	Watch(ctx context.Context, written func(key string, value []byte)) error
}

// errChanged says that a value is not the one that was to be replaced.
var errChanged = errors.New("the entry was changed by another engine")

// errGarbled says that this version does not understand a value.
var errGarbled = errors.New("it is not understood")

// NodePrefix begins the keys of the nodes in the bucket; what follows is the name.
const NodePrefix = "node."

// partitionPrefix begins the keys of the partitions.
const partitionPrefix = "partition."

func partitionKey(partition int) string { return partitionPrefix + strconv.Itoa(partition) }

func partitionOf(key string) (partition int, ok bool) {
	number, ok := strings.CutPrefix(key, partitionPrefix)
	if !ok {
		return 0, false
	}
	partition, err := strconv.Atoi(number)
	return partition, err == nil
}

// get reads a value of the bucket.
func get[V any](ctx context.Context, b Bucket, key string) (v V, revision uint64, err error) {
	text, revision, err := b.Get(ctx, key)
	if err != nil || revision == 0 {
		return v, 0, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, 0, fmt.Errorf("read the entry %s: %w: %w", key, errGarbled, err)
	}
	return v, revision, nil
}

// put writes a value of the bucket, and finds out whether it was written where the answer is lost.
func put[V comparable](ctx context.Context, b Bucket, key string, v V, revision uint64) (uint64, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	written, err := b.Put(ctx, key, text, revision)
	switch {
	case err == nil && written != 0:
		return written, nil
	case err == nil:
		err = errChanged // also by the request itself, if it was sent again
	}
	if now, at, readErr := get[V](ctx, b, key); readErr == nil && at > revision && now == v {
		return at, nil
	}
	return 0, err
}
