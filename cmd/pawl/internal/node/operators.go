package node

import (
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// answerOperators lets the interface answer operators over NATS. It uses another connection than the log, with fewer
// rights, since the caller chooses the subject of the answer.
func answerOperators(server *embeddednats.Server, api *ops.Server, logger *slog.Logger, opened *storage.Closers) error {
	refusals := rate.Sometimes{Interval: time.Minute}
	refused := func(_ *nats.Conn, _ *nats.Subscription, err error) {
		refusals.Do(func() {
			logger.Warn("NATS refused an action of the service that answers operators: "+
				"perhaps a request asked for its answer on a subject that is no inbox", "error", err)
		})
	}
	answering, err := server.ConnectServices(nats.Name("pawl services"), nats.ErrorHandler(refused))
	if err != nil {
		return exit.Failed("", err)
	}
	opened.Add(func() error { answering.Close(); return nil })
	service, err := api.StartNATS(rpc.NATSConfig{Conn: answering, Role: rpc.Operator, Prefix: datadir.NATSPrefix})
	if err != nil {
		return exit.Failed("", err)
	}
	opened.Add(service.Stop)
	return nil
}
