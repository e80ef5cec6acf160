package ops

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// plainOperation stands beside the table: it takes nothing, and answers while the engine starts too.
type plainOperation struct {
	rpc.Plain
	// answer is nil for what is no JSON: HTTP alone offers it.
	answer func(*Server, context.Context) ([]byte, *rpc.Problem)
}

var plainTable = []plainOperation{
	{rpc.Plain{ID: "openapi", Path: rpc.OpenAPIPath, Summary: "This document", Media: "application/json"},
		(*Server).describe},
	{rpc.Plain{ID: "healthz", Path: "/healthz", Summary: "Whether the process answers", Media: "application/json",
		Public: true}, (*Server).healthz},
	{rpc.Plain{ID: "readyz", Path: "/readyz", Summary: "Whether the engine is ready for new work",
		Media: "application/json", Public: true}, (*Server).readyz},
	{rpc.Plain{ID: "metrics", Path: "/metrics", Summary: "Figures for Prometheus", Media: "text/plain"}, nil},
}

// public says what is answered without a token.
func public(path string) bool {
	return slices.ContainsFunc(plainTable, func(p plainOperation) bool { return p.Public && p.Path == path })
}

// document is the OpenAPI document of everything here, for a program of the given version.
func document(version string) ([]byte, error) {
	var beside []rpc.Plain
	for _, p := range plainTable {
		beside = append(beside, p.Plain)
	}
	return rpc.OpenAPI(version, Table(), beside, knownTypes)
}

// plain answers one of them over HTTP.
func (s *Server) plain(p plainOperation) http.Handler {
	if p.answer == nil {
		return s.figures()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, problem := p.answer(s, r.Context())
		if problem != nil {
			s.refuse(w, r, problem)
			return
		}
		rpc.WriteJSON(w, http.StatusOK, body)
	})
}

// figures answers those who may see all workflows.
func (s *Server) figures() http.Handler {
	handler := s.metrics.Handler()
	figures := rpc.Operation{ID: "metrics", Role: rpc.Viewer}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, p := auth.CallerOf(r)
		if p == nil {
			p = figures.Permit(caller, nil)
		}
		if p != nil {
			s.refuse(w, r, p)
			return
		}
		rpc.LimitWrite(w)
		handler.ServeHTTP(w, r)
	})
}

func (s *Server) describe(context.Context) ([]byte, *rpc.Problem) { return s.openapi, nil }

// readyTimeout bounds the question to the log.
const readyTimeout = 2 * time.Second

type health struct {
	OK           bool   `json:"ok"`
	Version      string `json:"version"`
	Installation string `json:"installation"`
}

// healthz answers while the process can answer at all.
func (s *Server) healthz(context.Context) ([]byte, *rpc.Problem) {
	body, err := rpc.EncodeAnswer(health{OK: true, Version: s.cfg.Version, Installation: s.cfg.Installation})
	if err != nil {
		return nil, s.fault("health", err)
	}
	return body, nil
}

// readyz answers once every workflow is replayed, while the log answers, new work may start and the
// server is not stopping.
func (s *Server) readyz(ctx context.Context) ([]byte, *rpc.Problem) {
	select {
	case <-s.cfg.Engine.Ready():
	default:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "engine.starting",
			"the engine is still reading its log").WithHint("ask again in a moment")
	}
	if s.life.Err() != nil {
		return nil, rpc.Stopping()
	}
	if err := s.cfg.Engine.Room(); err != nil {
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable",
			"nothing new starts, and what is pushed is refused: %v", err).
			WithHint("work goes on by itself when there is room")
	}
	if damage := s.cfg.Engine.Damage(); len(damage.Problems) > 0 {
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "log.damaged",
			"the log is damaged; workflows that begin nothing new: %d", len(damage.Workflows)).
			WithHint("GET /v1/diagnostics lists what is damaged; pawl verify says the way out")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for p := range s.cfg.Log.Partitions() {
		if _, err := s.cfg.Log.Last(ctx, p); err != nil {
			return nil, rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable",
				"partition %d of the log does not answer", p).WithCause(err).
				WithHint("ask again in a moment; the engine's own output says what is wrong with its storage")
		}
	}
	return s.healthz(ctx)
}
