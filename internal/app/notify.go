package app

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// Names of the sockets that systemd hands over (FileDescriptorName= in capd.socket).
const (
	socketStatus = "status"
	socketMCP    = "mcp"
)

// handedOver is the listeners that systemd opened for capd, by name; none outside systemd.
func handedOver() (map[string]net.Listener, error) {
	byName, err := activation.ListenersWithNames()
	out := map[string]net.Listener{}
	for name, listeners := range byName {
		if len(listeners) > 0 && listeners[0] != nil {
			out[name] = listeners[0]
		}
	}
	return out, err
}

// tell sends a state to systemd; outside systemd it does nothing.
func tell(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd not notified", "state", state, "error", err)
	}
}

// tellReloading brackets a reload as systemd wants it: RELOADING with the monotonic time before, READY after.
func tellReloading(log *slog.Logger, reload func()) {
	stamp := daemon.SdNotifyMonotonicUsec()
	tell(log, daemon.SdNotifyReloading+"\n"+stamp)
	reload()
	tell(log, daemon.SdNotifyReady)
}

// keepAlive tells systemd's watchdog that capd is alive, as long as alive answers, until ctx ends.
func keepAlive(ctx context.Context, log *slog.Logger, alive func(context.Context) bool) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if alive(ctx) {
				tell(log, daemon.SdNotifyWatchdog)
			}
		}
	}
}
