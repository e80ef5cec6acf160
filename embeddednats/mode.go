package embeddednats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// JetStream deletes streams of a server that was alone as orphans when it starts as part of a cluster, since the
// cluster does not know them; and a server of a cluster that starts alone serves its copies as if they were the whole.
// So the mode of a store is checked before the server starts.
var (
	// ErrStandaloneData: the data of a server that was alone, in a cluster.
	ErrStandaloneData = errors.New("it holds the data of an engine that ran alone, " +
		"and a server that joins a cluster would delete it; " +
		"it is untouched; pawl backup DIR copies it, and pawl restore DIR makes the log of a cluster of it")
	// ErrClusterData: the data of a server of a cluster, alone or in another cluster, or under another name.
	ErrClusterData = errors.New("it holds the data of a node of a cluster")
)

// memberFile, in the store's directory, says which node of which cluster the data belongs to.
const memberFile = "cluster.json"

// member is the node whose data it is.
type member struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
}

// checkMode refuses data that is not the server's, and notes whose it is from now on.
func checkMode(store string, cluster *Cluster, node string) error {
	was, known, err := readMember(store)
	if err != nil {
		return err
	}
	clustered, err := isThere(metaGroup(store))
	if err != nil {
		return err
	}
	streams, err := holdsStreams(store)
	if err != nil {
		return err
	}
	switch {
	case cluster == nil && clustered, cluster == nil && known && streams:
		return fmt.Errorf("data directory %s: %w%s; start it with the same --cluster and --node", store, ErrClusterData, was)
	case cluster == nil && known:
		// A node that never joined has left nothing. What is made here from now on is not its data.
		err := os.Remove(filepath.Join(store, memberFile))
		if err == nil {
			err = durable.SyncDir(store)
		}
		if err != nil {
			return fmt.Errorf("note that the data is no node's any more: %w", err)
		}
		return nil
	case cluster == nil:
		return nil
	case streams && !clustered: // a node makes its metadata group before any stream
		return fmt.Errorf("data directory %s: %w", store, ErrStandaloneData)
	case known && was != (member{cluster.Name, node}):
		return fmt.Errorf("data directory %s: %w%s, not of node %s of cluster %s; give each node a directory of its own",
			store, ErrClusterData, was, node, cluster.Name)
	case known:
		return nil
	}
	text, err := json.Marshal(member{cluster.Name, node})
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(store, memberFile), append(text, '\n')); err != nil {
		return fmt.Errorf("note whose data it is: %w", err)
	}
	return nil
}

// String continues a sentence about data.
func (m member) String() string {
	if m == (member{}) {
		return ""
	}
	return fmt.Sprintf(" (node %s of cluster %s)", m.Node, m.Cluster)
}

// readMember reads which node the data belongs to; known is false where that is not noted.
func readMember(store string) (m member, known bool, err error) {
	path := filepath.Join(store, memberFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return member{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return member{}, false, fmt.Errorf("read whose data it is from %s: %w", path, err)
	}
	return m, true, nil
}

// holdsStreams reports whether there is a stream in the engine's account.
func holdsStreams(store string) (bool, error) {
	entries, err := os.ReadDir(streamDir(store, ""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look for streams: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") { // the server removes those with a dot
			return true, nil
		}
	}
	return false, nil
}

// metaGroup is where a server of a cluster keeps what the cluster has decided about streams. The server makes this
// directory before any stream.
func metaGroup(store string) string {
	return filepath.Join(store, server.JetStreamStoreDir, server.DEFAULT_SYSTEM_ACCOUNT, "_js_", "_meta_")
}

func isThere(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
