package ops

import (
	"context"
	"net/http"
	"time"
)

// readyTimeout bounds the question to the log.
const readyTimeout = 2 * time.Second

type health struct {
	OK           bool   `json:"ok"`
	Version      string `json:"version"`
	Installation string `json:"installation"`
}

// healthz answers while the process can answer at all.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	s.healthy(w)
}

// readyz answers 200 once every workflow is replayed, while the log answers and the server is not
// stopping.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.cfg.Engine.Ready():
	default:
		problemf(http.StatusServiceUnavailable, "engine.starting", "the engine is still reading its log").write(w)
		return
	}
	if s.life.Err() != nil {
		problemf(http.StatusServiceUnavailable, "engine.stopping", "the engine is shutting down").write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	for p := range s.cfg.Log.Partitions() {
		if _, err := s.cfg.Log.Last(ctx, p); err != nil {
			problemf(http.StatusServiceUnavailable, "storage.unavailable", "partition %d of the log does not answer: %v", p, err).write(w)
			return
		}
	}
	s.healthy(w)
}

func (s *Server) healthy(w http.ResponseWriter) {
	body, err := encodeAnswer(health{OK: true, Version: s.cfg.Version, Installation: s.cfg.Installation})
	if err != nil {
		s.fault("health", err).write(w)
		return
	}
	writeJSON(w, http.StatusOK, body)
}
