package embeddednats

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// With each update of a stream nats-server 2.15.2 replaces meta.inf, and then meta.sum, which holds its checksum. A
// process that is killed between the two leaves a pair that does not match, and the server then serves nothing of that
// stream, although all its messages are there. So a copy of the pair is kept from before each update, and put back
// before the server starts.
//
// Without consent the copy goes back only if one half of the pair is still the copy's. That shows that no update has
// ended since the copy was made; an older copy would undo an update that was acknowledged. Where there is no copy at
// all, metadata without its checksum needs consent too: any bit of it may have changed.
const (
	metaFile = server.JetStreamMetaFile
	metaSum  = server.JetStreamMetaFileSum
	// metaCopy, in the stream's directory, holds the checksum, a line feed, and the metadata.
	metaCopy = "meta.copy"
	// half is the ending of a file that the server has begun to write, and renames when it is whole.
	half = ".tmp"
)

// metadata is what lies in the directory of a stream; nil is a file that is not there.
type metadata struct{ inf, sum []byte }

func readMetadata(dir string) (m metadata, err error) {
	if m.inf, err = readIfThere(filepath.Join(dir, metaFile)); err == nil {
		m.sum, err = readIfThere(filepath.Join(dir, metaSum))
	}
	return m, err
}

// readCopy returns an empty pair for a copy that is not there or was not written to its end.
func readCopy(dir string) (metadata, error) {
	text, err := readIfThere(filepath.Join(dir, metaCopy))
	if err != nil {
		return metadata{}, err
	}
	sum, inf, _ := bytes.Cut(text, []byte("\n"))
	if m := (metadata{inf, sum}); m.match(filepath.Base(dir)) {
		return m, nil
	}
	return metadata{}, nil
}

func readIfThere(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// match reports whether the server accepts the pair for the stream.
func (m metadata) match(stream string) bool {
	return m.inf != nil && m.sum != nil && string(m.sum) == checksum(stream, m.inf)
}

func checksum(stream string, inf []byte) string {
	key := sha256.Sum256([]byte(stream))
	h, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key has the wrong length
	}
	_, _ = h.Write(inf) // cannot fail
	return hex.EncodeToString(h.Sum(nil))
}

// describes reports whether the metadata is whole as far as that can be seen without its checksum: the server would
// serve the stream, and drop none of its messages.
func (m metadata) describes(stream string) bool {
	var info server.FileStreamInfo
	decoder := json.NewDecoder(bytes.NewReader(m.inf))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&info) != nil || decoder.Decode(&struct{}{}) != io.EOF {
		return false
	}
	level, ok := info.Metadata[server.JSRequiredLevelMetadataKey]
	if required, err := strconv.Atoi(level); ok && (err != nil || required > server.JSApiLevel) {
		return false
	}
	return info.Name == stream && info.Storage == server.FileStorage && info.Retention == server.LimitsPolicy &&
		info.MaxAge == 0 && info.MaxMsgs <= 0 && info.MaxBytes <= 0 && info.MaxMsgsPer <= 0
}

func (m metadata) write(dir string) error {
	if err := durable.WriteFile(filepath.Join(dir, metaFile), m.inf); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, metaSum), m.sum)
}

// keepMetadata makes the copy of the pair, unless it is there: while the checksum is the copy's, no update has ended.
func keepMetadata(dir string) error {
	now, err := readMetadata(dir)
	if err != nil {
		return err
	}
	kept, err := readCopy(dir)
	switch {
	case err != nil:
		return err
	case kept.sum != nil && bytes.Equal(kept.sum, now.sum):
		return nil
	case !now.match(filepath.Base(dir)):
		return fmt.Errorf("%s does not match %s", metaFile, metaSum)
	}
	return durable.WriteFile(filepath.Join(dir, metaCopy), append(append(bytes.Clone(now.sum), '\n'), now.inf...))
}

// Unserved is why the server serves nothing of a stream that is in its store.
type Unserved struct {
	Reason string
	// Usable: with the consent of [Config.Trust] the stream is served.
	Usable bool
}

// mendMetadata makes the metadata of each stream match its checksum where that can be done without a doubt, or with the
// consent of trust, and keeps a copy of what matches. A disposable stream is removed instead. It returns the streams
// that the server will not serve. The server must not run.
func mendMetadata(
	store string, trust func(stream, takes string) (bool, error), disposable []string, log *slog.Logger,
) (map[string]Unserved, error) {
	streams := streamDir(store, "")
	entries, err := os.ReadDir(streams)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for streams: %w", err)
	}
	unserved := make(map[string]Unserved)
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") { // the server removes those with a dot
			continue
		}
		dir := filepath.Join(streams, e.Name())
		found, err := mendStreamMetadata(dir, trust, slices.Contains(disposable, e.Name()),
			log.With(slog.String("stream", e.Name())))
		if err != nil {
			return nil, fmt.Errorf("mend the metadata of stream %s: %w", e.Name(), err)
		}
		if found != nil {
			unserved[e.Name()] = *found
		}
	}
	return unserved, nil
}

func mendStreamMetadata(
	dir string, trust func(stream, takes string) (bool, error), disposable bool, log *slog.Logger,
) (*Unserved, error) {
	if err := removeHalves(dir); err != nil {
		return nil, err
	}
	stream := filepath.Base(dir)
	found, err := readMetadata(dir)
	if err != nil {
		return nil, err
	}
	if found.match(stream) {
		if err := keepMetadata(dir); err != nil { // a full disk, say; an update that needs the copy will fail
			log.Warn("no copy of the stream's metadata could be kept", slog.Any("error", err))
		}
		return nil, nil
	}
	kept, err := readCopy(dir)
	if err != nil {
		return nil, err
	}
	if kept.inf != nil && (bytes.Equal(kept.sum, found.sum) || bytes.Equal(kept.inf, found.inf)) {
		log.Warn("an update of the stream's metadata was interrupted: the metadata from before the update is " +
			"restored; no message is lost")
		return nil, kept.write(dir)
	}
	empty, err := holdsNothing(dir)
	if err != nil {
		return nil, err
	}
	if empty && found.sum == nil {
		// The server was killed while it made the stream; with this half it would never write the other one.
		if found.inf == nil {
			return nil, nil
		}
		log.Warn("creating the stream was interrupted while it was empty; it is created again")
		if err := os.Remove(filepath.Join(dir, metaFile)); err != nil {
			return nil, err
		}
		return nil, durable.SyncDir(dir)
	}
	if disposable {
		log.Warn("the stream's metadata does not match its checksum; the stream holds no facts and is created again")
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		return nil, durable.SyncDir(filepath.Dir(dir))
	}
	taken, takes := kept, "an older copy of it is taken"
	if kept.inf == nil {
		taken, takes = found, "it is taken as it is"
	}
	if !taken.describes(stream) {
		return &Unserved{Reason: unservedText(dir)}, nil
	}
	takes = "its metadata does not match its checksum; " + takes
	trusted := false
	if trust != nil {
		if trusted, err = trust(stream, takes); err != nil {
			return nil, err
		}
	}
	if !trusted {
		return &Unserved{Usable: true, Reason: unservedText(dir)}, nil
	}
	log.Warn("consent was given: " + takes)
	taken.sum = []byte(checksum(stream, taken.inf))
	return nil, taken.write(dir)
}

// removeHalves removes what a kill has left of files that were about to be renamed.
func removeHalves(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		for _, name := range []string{metaFile, metaSum, metaCopy} {
			if file.Name() != name+half && !strings.HasPrefix(file.Name(), durable.Temporary(name)) {
				continue
			}
			if err := os.Remove(filepath.Join(dir, file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func unservedText(dir string) string {
	return fmt.Sprintf("its metadata (%s) does not match its checksum, and there is no copy of its newest state; "+
		"its messages are still in %s", filepath.Join(dir, metaFile), filepath.Join(dir, "msgs"))
}

// holdsNothing reports whether no block of the stream has a byte.
func holdsNothing(dir string) (bool, error) {
	blocks, err := os.ReadDir(filepath.Join(dir, "msgs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, e := range blocks {
		if filepath.Ext(e.Name()) != ".blk" {
			continue
		}
		if info, err := e.Info(); err != nil || info.Size() > 0 {
			return false, err
		}
	}
	return true, nil
}

// streamDir is the directory of a stream of the engine's account.
func streamDir(store, stream string) string {
	return filepath.Join(store, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream)
}
