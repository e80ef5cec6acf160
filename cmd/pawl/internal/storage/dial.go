package storage

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

const (
	// connectTime is how long a server may take to accept a connection.
	connectTime = 10 * time.Second
	// pingEvery is how often a server is pinged. After two pings without an answer the engine leaves it for another
	// server, before its leases are lost.
	pingEvery = 3 * time.Second
	// answerWithin is how long JetStream may be silent before its server counts as cut off. It is longer than an election
	// of a leader takes (up to 9 s), and shorter than a lease lasts without a renewal (15 s).
	answerWithin = 12 * time.Second
)

// Dial connects to the servers. A lost connection is made again for as long as the engine lives, whatever the servers
// answer meanwhile. A message that is sent while there is none fails, and is not sent later. A server that hangs, or is
// cut off from the others, is left for another one.
func Dial(servers config.Servers, creds string, logger *slog.Logger, options ...nats.Option) (*nats.Conn, error) {
	all := []nats.Option{
		nats.Timeout(connectTime), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if err != nil {
				logger.Warn("the connection to the NATS servers is lost; it is made again", "connection", nc.Opts.Name,
					"error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.Info("connected to the NATS servers again", "connection", nc.Opts.Name,
				"server", nc.ConnectedServerName())
		}),
	}
	if creds != "" {
		all = append(all, nats.UserCredentials(creds))
	}
	nc, err := nats.Connect(servers.URL, append(all, options...)...)
	if err != nil {
		return nil, exit.Failed("are the servers there, and are the credentials those of the engines' account? "+
			"pawl doctor --server URL --creds FILE looks closer", fmt.Errorf("connect to the NATS servers: %w", err))
	}
	if err := leaveWhenCutOff(nc, logger, answerWithin, func() {}); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

// leaveWhenCutOff leaves a server for another one when JetStream has not answered through it for so long. A server that
// is cut off from the others of its cluster keeps its connections, so nothing else tells that no leader can be reached
// through it. It ends with the connection. Where JetStream has never answered, another server may not do so either, and
// the connection stays. It calls onAnswer after each answer.
func leaveWhenCutOff(nc *nats.Conn, logger *slog.Logger, within time.Duration, onAnswer func()) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("prepare to ask JetStream: %w", err)
	}
	every := within / 4
	closed := nc.StatusChanged(nats.CLOSED)
	go func() {
		again := time.NewTicker(every)
		defer again.Stop()
		var answered time.Time // the time of the last answer; zero while there was none
		for {
			ctx, cancel := context.WithTimeout(context.Background(), every)
			_, err := js.AccountInfo(ctx)
			cancel()
			switch {
			case err == nil:
				answered = time.Now()
				onAnswer()
			case !answered.IsZero() && time.Since(answered) >= within && len(nc.Servers()) > 1:
				logger.Warn("JetStream does not answer through this server; another one is tried", "connection", nc.Opts.Name,
					"server", nc.ConnectedServerName(), "error", err)
				answered = time.Now()   // the other server gets as much time
				_ = nc.ForceReconnect() // it fails only where the connection is closed
			}
			select {
			case <-again.C:
			case <-closed:
				return
			}
		}
	}()
	return nil
}
