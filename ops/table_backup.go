package ops

import (
	"context"
	"errors"
	"net/http"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/rpc"
)

// backupRequest asks for a part of a partition.
type backupRequest struct {
	Partition int    `json:"partition,omitempty" in:"query" jsonschema:"the partition, 0 when left out"`
	From      uint64 `json:"from,omitempty" in:"query" jsonschema:"the first sequence to read, 1 when left out"`
	Through   uint64 `json:"through" in:"query" jsonschema:"the last sequence to read: the end of the partition, as describeBackup has told it"`
}

var backupTable = []Operation{
	define(operation("describeBackup", "GET /v1/backup", rpc.Admin,
		"Say what there is to copy for a backup, and where the copy ends").private(), describeBackup),
	define(operation("readBackup", "GET /v1/backup/records", rpc.Admin,
		"Read stored transitions of a partition, byte by byte, for a backup").reading().private(), readBackup),
}

func describeBackup(ctx context.Context, c *Call, _ *everything) (backup.Description, error) {
	log, err := c.backend.copied()
	if err != nil {
		return backup.Description{}, err
	}
	return log.Describe(ctx)
}

func readBackup(ctx context.Context, c *Call, r *backupRequest) (backup.Page, error) {
	log, err := c.backend.copied()
	if err != nil {
		return backup.Page{}, err
	}
	page, err := log.Page(ctx, r.Partition, max(r.From, 1), r.Through)
	if errors.Is(err, backup.ErrUnknownPartition) {
		return page, rpc.Malformed("partition.unknown", "%v", err).WithHint("describeBackup tells how many there are")
	}
	return page, err
}

// copied is the log as a backup copies it.
func (b *backend) copied() (backup.Opened, error) {
	log, ok := b.cfg.Log.(eventlog.StoredLog)
	if !ok || b.cfg.Source == nil {
		return backup.Opened{}, rpc.Problemf(http.StatusNotFound, "backup.none", "this engine's log cannot be copied").
			WithHint("ask an engine that keeps its log in NATS")
	}
	return backup.Opened{Log: log, Source: b.cfg.Source()}, nil
}
