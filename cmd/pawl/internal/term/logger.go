package term

import "log/slog"

// Logger writes what an operator should know to standard error.
func Logger(screen Screen) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if IsTerminal(screen.Err) {
		options.ReplaceAttr = func(groups []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return attr
		}
	}
	return slog.New(slog.NewTextHandler(screen.Err, options))
}
