package node

import (
	"fmt"
	"log/slog"

	sdaemon "github.com/coreos/go-systemd/v22/daemon"
)

// tellSupervisor tells the service manager that started this process (systemd, with Type=notify) what it is doing:
// sdaemon.SdNotifyReady once it answers, sdaemon.SdNotifyStopping once it ends. Without a service manager it
// does nothing.
func tellSupervisor(logger *slog.Logger, state string) {
	if _, err := sdaemon.SdNotify(false, state); err != nil {
		logger.Warn("the service manager could not be notified; it may think that this engine has not started, or does not "+
			"stop", "state", state, "error", fmt.Errorf("write to NOTIFY_SOCKET: %w", err))
	}
}
