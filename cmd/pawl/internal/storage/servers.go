package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/ops/doctor"
)

// lookTime bounds one look at the servers: a question that is sent while they elect a leader is never answered.
const lookTime = 3 * time.Second

// lookAtServers refuses servers on which an engine cannot work, and names what is weaker there than it could be.
// Servers that have no leader yet are waited for.
func lookAtServers(ctx context.Context, nc *nats.Conn, servers config.Servers, logger *slog.Logger) error {
	report, err := answeredReport(ctx, nc, logger)
	if err != nil {
		return exit.Failed("see whether the cluster has a leader: nats server report jetstream", err)
	}
	if report, err = seeSync(ctx, report, servers, logger); err != nil {
		return err
	}
	for _, f := range report.Findings {
		switch {
		case f.Verdict == doctor.Problem && (f.Check == doctor.CheckServer || f.Check == doctor.CheckJetStream):
			return exit.Failed(f.Remedy, errors.New("the NATS servers cannot keep a log: "+f.Check+": "+f.Says))
		case f.Verdict == doctor.Problem, f.Verdict == doctor.Weak:
			logger.Warn("the NATS servers: "+f.Check+": "+f.Says, "hint", f.Remedy)
		case f.Verdict == doctor.Unknown && f.Check == doctor.CheckSync && !servers.Nodes:
			logger.Warn("the NATS servers: "+f.Says+": what is promised covers killed processes, not the loss of power",
				"hint", f.Remedy)
		}
	}
	return nil
}

// seeSync completes the report with how the servers sync their writes, which an application's account cannot see. The
// report stays as it is without credentials of the system account.
func seeSync(
	ctx context.Context, report doctor.HealthReport, servers config.Servers, logger *slog.Logger,
) (doctor.HealthReport, error) {
	if servers.SysCreds == "" {
		return report, nil
	}
	var hosts []string // the URL may hold the password of the engines' account
	for one := range strings.SplitSeq(servers.URL, ",") {
		at, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return report, exit.Misconfigured("write e.g. nats://HOST:4222", "nats holds what is no URL")
		}
		at.User = nil
		hosts = append(hosts, at.String())
	}
	servers.URL = strings.Join(hosts, ",")
	nc, err := Dial(servers, servers.SysCreds, logger, nats.Name("pawl looks"))
	if err != nil {
		return report, err
	}
	defer nc.Close()
	found, err := doctor.Sync(ctx, nc)
	if err != nil {
		return report, exit.Failed("correct --nats-sys-creds, or leave it out", err)
	}
	for i, f := range report.Findings {
		if f.Check == doctor.CheckSync {
			report.Findings[i] = found
		}
	}
	return report, nil
}

// answeredReport looks at the servers, again and again until JetStream answers or ctx ends.
func answeredReport(ctx context.Context, nc *nats.Conn, logger *slog.Logger) (doctor.HealthReport, error) {
	for told := false; ; {
		limited, cancel := context.WithTimeout(ctx, lookTime)
		report, err := doctor.Server(limited, nc)
		cancel()
		if err == nil && !slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool {
			return f.Check == doctor.CheckAnswer
		}) {
			return report, nil
		}
		if ctx.Err() != nil {
			return report, fmt.Errorf("look at the NATS servers: %w", context.Cause(ctx))
		}
		if !told {
			told = true
			logger.Warn("JetStream does not answer yet; this node waits for it",
				"hint", "see whether the cluster has a leader: nats server report jetstream")
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
		}
	}
}

// askAgain is how often a node looks whether the shared log has been made.
const askAgain = time.Second
