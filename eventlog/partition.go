package eventlog

import (
	"crypto/sha256"
	"encoding/binary"
)

// PartitionOf says in which of a log's partitions a workflow lives: the first eight bytes (big
// endian) of the SHA-256 of its name, modulo the number of partitions. It is part of the stored
// format and fixed forever: another function would look for a workflow's past in the wrong place.
func PartitionOf(name WorkflowName, partitions int) int {
	if partitions <= 1 {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(partitions))
}
