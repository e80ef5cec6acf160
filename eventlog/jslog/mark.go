package jslog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// The mark's file: a header page, then two slots per partition that are written in turn, so that
// a write torn by a power cut leaves the older one. All slots are there from the start: writing
// one changes no file size, so a sync is one write to the disk. A slot more, at the end, says that the
// log is or was last written by a server that does not sync every write.
const (
	markMagic    = "PAWLMARK1\n"
	markPage     = 4096
	markSlotSize = 512
	markDelay    = time.Second
	markUnsynced = "unsynced"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// point is the last acknowledged message of a partition.
type point struct {
	seq  uint64
	hash eventlog.Hash
}

// mark is the high-water mark: what the log acknowledged, kept outside the log. Only with it can
// a lost tail be told from one that was never acknowledged.
type mark struct {
	installation string
	unsynced     bool // what was acknowledged above it may be lost: it is not raised
	file         *os.File
	syncs        *atomic.Uint64
	failed       func(error) // reports a failed background sync

	syncing sync.Mutex // held over a write and its sync
	mu      sync.Mutex
	points  []point // highest acknowledged
	synced  []point // on the disk
	turn    []int   // slot to write next
	timer   *time.Timer
	closed  bool
}

// openMark reads the mark's file. It returns nil, nil if there is none.
func openMark(path string, syncs *atomic.Uint64, failed func(error)) (*mark, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open high-water mark: %w", err)
	}
	m := &mark{file: f, syncs: syncs, failed: failed}
	if err := m.read(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w: the high-water mark %s cannot be read (%w)",
			eventlog.ErrDamaged, path, err)
	}
	return m, nil
}

func (m *mark) read() error {
	all, err := os.ReadFile(m.file.Name())
	if err != nil {
		return err
	}
	if len(all) < markPage || !bytes.HasPrefix(all, []byte(markMagic)) {
		return errors.New("it is not a mark")
	}
	header, ok := unseal(all[len(markMagic):markPage])
	if !ok || len(header) < 4 {
		return errors.New("its header is damaged")
	}
	n := int(binary.BigEndian.Uint32(header))
	if n < 1 || n > maxPartitions || len(all) < markPage+2*n*markSlotSize {
		return errors.New("it is too short")
	}
	m.installation = string(header[4:])
	m.points, m.turn = make([]point, n), make([]int, n)
	for p := range n {
		found := false
		for slot := range 2 {
			at := markPage + (2*p+slot)*markSlotSize
			body, ok := unseal(all[at : at+markSlotSize])
			if !ok || len(body) != 8+len(eventlog.Hash{}) {
				continue
			}
			got := point{binary.BigEndian.Uint64(body), eventlog.Hash(body[8:])}
			if !found || got.seq > m.points[p].seq {
				m.points[p], m.turn[p] = got, 1-slot
			}
			found = true
		}
		if !found {
			return fmt.Errorf("both entries of partition %d are damaged", p)
		}
	}
	m.synced = append([]point(nil), m.points...)
	if rest := all[markPage+2*n*markSlotSize:]; len(rest) >= markSlotSize {
		body, ok := unseal(rest)
		m.unsynced = !ok || string(body) == markUnsynced // in doubt, less is expected of it
	}
	return nil
}

// createMark writes a new mark at the given points, replacing the file if there is one.
func createMark(path, installation string, points []point, unsynced bool, syncs *atomic.Uint64,
	failed func(error)) (*mark, error) {
	header := binary.BigEndian.AppendUint32(nil, uint32(len(points)))
	header = append(header, installation...)
	all := make([]byte, markPage+2*len(points)*markSlotSize)
	copy(all, markMagic)
	seal(all[len(markMagic):markPage], header)
	for p, at := range points {
		for slot := range 2 {
			seal(all[markPage+(2*p+slot)*markSlotSize:][:markSlotSize], at.encode())
		}
	}
	if unsynced {
		slot := make([]byte, markSlotSize)
		seal(slot, []byte(markUnsynced))
		all = append(all, slot...)
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = durable.WriteFile(path, all)
	}
	if err != nil {
		return nil, fmt.Errorf("create high-water mark: %w", err)
	}
	return openMark(path, syncs, failed)
}

func (p point) encode() []byte {
	return append(binary.BigEndian.AppendUint64(nil, p.seq), p.hash[:]...)
}

// seal frames body with its length and checksum.
func seal(into, body []byte) {
	binary.BigEndian.PutUint16(into, uint16(len(body)))
	copy(into[2:], body)
	binary.BigEndian.PutUint32(into[2+len(body):], crc32.Checksum(into[:2+len(body)], castagnoli))
}

func unseal(from []byte) ([]byte, bool) {
	n := int(binary.BigEndian.Uint16(from))
	if n+6 > len(from) || binary.BigEndian.Uint32(from[2+n:]) != crc32.Checksum(from[:2+n], castagnoli) {
		return nil, false
	}
	return from[2 : 2+n], true
}

// of reports whether the mark is of this log.
func (m *mark) of(installation string, partitions int) bool {
	return m.installation == installation && len(m.points) == partitions
}

// at returns the last acknowledged message of the partition.
func (m *mark) at(partition int) point {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.points[partition]
}

// observe takes note of an acknowledgement; it reaches the disk within about a second.
func (m *mark) observe(partition int, p point) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.seq <= m.points[partition].seq || m.closed || m.unsynced {
		return
	}
	m.points[partition] = p
	if m.timer == nil {
		m.timer = time.AfterFunc(markDelay, func() {
			m.mu.Lock()
			m.timer = nil
			m.mu.Unlock()
			if err := m.sync(); err != nil {
				m.failed(err)
			}
		})
	}
}

// sync returns once everything observed before the call is on the disk.
func (m *mark) sync() error {
	if m == nil {
		return nil
	}
	m.syncing.Lock()
	defer m.syncing.Unlock()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return fmt.Errorf("write high-water mark: %w", eventlog.ErrClosed)
	}
	points := append([]point(nil), m.points...)
	m.mu.Unlock()
	dirty := false
	for p, to := range points {
		if to == m.synced[p] {
			continue
		}
		dirty = true
		var slot [markSlotSize]byte
		seal(slot[:], to.encode())
		if _, err := m.file.WriteAt(slot[:], int64(markPage+(2*p+m.turn[p])*markSlotSize)); err != nil {
			return fmt.Errorf("write high-water mark: %w", err)
		}
	}
	if !dirty {
		return nil
	}
	if err := durable.SyncData(m.file); err != nil {
		// What was written may or may not be on the disk; the next sync writes it again.
		return fmt.Errorf("sync high-water mark: %w", err)
	}
	for p, to := range points {
		if to != m.synced[p] {
			m.synced[p], m.turn[p] = to, 1-m.turn[p]
		}
	}
	m.syncs.Add(1)
	return nil
}

// close syncs what was observed and closes the file.
func (m *mark) close() error {
	if m == nil {
		return nil
	}
	err := m.sync()
	m.syncing.Lock()
	defer m.syncing.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	return errors.Join(err, m.file.Close())
}

// MarkedInstallation is the id of the log that the high-water mark at path belongs to. It may be read
// beside an engine that runs, and changes nothing. It fails when the file cannot be read or is damaged.
func MarkedInstallation(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the high-water mark: %w", err)
	}
	defer func() { _ = f.Close() }()
	m := mark{file: f}
	if err := m.read(); err != nil {
		return "", fmt.Errorf("read the high-water mark %s: %w", path, err)
	}
	return m.installation, nil
}
