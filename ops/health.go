package ops

import (
	"context"
	"net/http"
	"time"
)

// plainOperation stands beside the table: it takes nothing, and answers while the engine starts too.
type plainOperation struct {
	id, path, summary, media string
	// answer is nil for what is no JSON: HTTP alone offers it.
	answer func(*Server, context.Context) ([]byte, *Problem)
}

var plainTable = []plainOperation{
	{"openapi", openAPIPath, "This document", "application/json", (*Server).describe},
	{"healthz", "/healthz", "Whether the process answers", "application/json", (*Server).healthz},
	{"readyz", "/readyz", "Whether the engine is ready for new work", "application/json", (*Server).readyz},
	{"metrics", "/metrics", "Figures for Prometheus", "text/plain", nil},
}

// public says what is answered without a token.
func public(path string) bool { return path == "/healthz" || path == "/readyz" }

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
		writeJSON(w, http.StatusOK, body)
	})
}

// figures answers those who may see all workflows.
func (s *Server) figures() http.Handler {
	handler := s.metrics.handler()
	figures := Operation{ID: "metrics", Role: Viewer}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, p := callerOf(r)
		if p == nil {
			p = figures.Permit(caller, nil)
		}
		if p != nil {
			s.refuse(w, r, p)
			return
		}
		limitWrite(w)
		handler.ServeHTTP(w, r)
	})
}

// described is the operation in the OpenAPI document.
func (p plainOperation) described() object {
	described := object{
		"operationId": p.id, "summary": p.summary,
		"responses": object{"200": object{"description": "OK", "content": object{p.media: object{}}}, "default": problemResponse()},
	}
	if public(p.path) {
		described["security"] = []any{}
	}
	return described
}

func (s *Server) describe(context.Context) ([]byte, *Problem) { return s.openapi, nil }

// readyTimeout bounds the question to the log.
const readyTimeout = 2 * time.Second

type health struct {
	OK           bool   `json:"ok"`
	Version      string `json:"version"`
	Installation string `json:"installation"`
}

// healthz answers while the process can answer at all.
func (s *Server) healthz(context.Context) ([]byte, *Problem) {
	body, err := encodeAnswer(health{OK: true, Version: s.cfg.Version, Installation: s.cfg.Installation})
	if err != nil {
		return nil, s.fault("health", err)
	}
	return body, nil
}

// readyz answers once every workflow is replayed, while the log answers, new work may start and the
// server is not stopping.
func (s *Server) readyz(ctx context.Context) ([]byte, *Problem) {
	select {
	case <-s.cfg.Engine.Ready():
	default:
		return nil, problemf(http.StatusServiceUnavailable, "engine.starting", "the engine is still reading its log").hint("ask again in a moment")
	}
	if s.life.Err() != nil {
		return nil, stopping()
	}
	if err := s.cfg.Engine.Room(); err != nil {
		return nil, problemf(http.StatusServiceUnavailable, "storage.unavailable", "nothing new starts, and what is pushed is refused: %v", err).
			hint("work goes on by itself when there is room")
	}
	if damage := s.cfg.Engine.Damage(); len(damage.Problems) > 0 {
		return nil, problemf(http.StatusServiceUnavailable, "log.damaged", "the log is damaged: %s begin nothing new, the others go on", count(len(damage.Workflows), "workflow")).
			hint("pawl why names them and the way out; GET /v1/diagnostics lists what is damaged")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for p := range s.cfg.Log.Partitions() {
		if _, err := s.cfg.Log.Last(ctx, p); err != nil {
			return nil, problemf(http.StatusServiceUnavailable, "storage.unavailable", "partition %d of the log does not answer", p).because(err).
				hint("ask again in a moment; the engine's own output says what is wrong with its storage")
		}
	}
	return s.healthz(ctx)
}

// codeStopping: the engine that was asked is about to end.
const codeStopping = "engine.stopping"

func stopping() *Problem {
	return problemf(http.StatusServiceUnavailable, codeStopping, "the engine is shutting down").hint("ask again once it is back")
}
