package term

import (
	"log/slog"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/ops/explain"
)

// Logger writes what an operator should know to standard error, the hints with their texts.
func Logger(screen Screen) *slog.Logger {
	untimed := IsTerminal(screen.Err)
	return slog.New(slog.NewTextHandler(screen.Err, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if untimed && attr.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			if h, ok := attr.Value.Any().(hint.Hint); ok {
				return slog.String(attr.Key, explain.Hint(h))
			}
			return attr
		},
	}))
}
