package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"capd/internal/localapi"
	"capd/internal/mcpserver"
	"capd/internal/registry"
)

// doors is everything through which somebody reaches capd, each with its listener.
type doors struct {
	status, mcpSocket, mcp net.Listener
	local                  *localapi.Server
}

// serve opens the doors, says that capd is ready, and runs until ctx ends or a door fails; then it closes the doors.
func serve(ctx context.Context, k *core, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d, err := openDoors(k, o)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	run := func(what string, work func(context.Context) error) {
		group.Go(func() {
			if err := work(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	run("status socket", func(ctx context.Context) error { return d.local.Serve(ctx, d.status) })
	run("MCP", func(ctx context.Context) error {
		return serveHTTP(ctx, mcpserver.NewHTTPServer(k.agents.Handler(), o.Log), d.mcp)
	})
	run("MCP socket", func(ctx context.Context) error { return k.agents.ServeSocket(ctx, d.mcpSocket) })
	run("folders", func(ctx context.Context) error {
		k.watch.run(ctx, func(ctx context.Context) { _, _ = k.reload(ctx, o.Log, false) }) // reload tells its errors
		return nil
	})
	run("mark", func(ctx context.Context) error { k.marks.keep(ctx, o.Log); return nil })
	run("signals", func(ctx context.Context) error { reloadOnHangup(ctx, k, o.Log); return nil })
	run("wires", func(ctx context.Context) error {
		k.watchWires(ctx, func(err error) { o.Log.Error("alarm not kept", "error", err) })
		return nil
	})
	run("watchdog", func(ctx context.Context) error { keepAlive(ctx, o.Log, k.alive); return nil })
	err = announce(d, k, o)
	debug.FreeOSMemory()
	if err == nil {
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	cancel(err)
	tell(o.Log, daemon.SdNotifyStopping)
	group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// announce tells everybody who waits that every door is open.
func announce(d *doors, k *core, o Options) error {
	ready := Ready{MCPURL: mcpURL(d.mcp), Socket: d.status.Addr().String()}
	o.Log.Info("ready", "mcp", ready.MCPURL, "socket", ready.Socket, "mode", k.standing.Mode().Mode, "version", o.Version)
	tell(o.Log, daemon.SdNotifyReady)
	if o.Ready == nil {
		return nil
	}
	return o.Ready(ready)
}

func mcpURL(l net.Listener) string { return "http://" + l.Addr().String() + "/mcp" }

// openDoors makes the listeners: those that systemd handed over, and its own for the rest.
func openDoors(k *core, o Options) (d *doors, err error) {
	d = &doors{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	given, err := handedOver()
	if err != nil {
		return d, fmt.Errorf("sockets from systemd: %w", err)
	}
	if d.status, err = listen(given[socketStatus], k.config.Folders.Run, "capd.sock"); err != nil {
		return d, err
	}
	if d.mcpSocket, err = listen(given[socketMCP], k.config.Folders.Run, "mcp.sock"); err != nil {
		return d, err
	}
	if d.mcp, err = net.Listen("tcp", k.config.MCP.Listen); err != nil {
		return d, portTaken(k.config.MCP.Listen, err)
	}
	d.local, err = newStatusDoor(k, o, mcpURL(d.mcp))
	return d, err
}

func listen(given net.Listener, dir, name string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the folder of the sockets cannot be made: %w; set folders.run in capd.yaml", err)
	}
	return localapi.Listen(filepath.Join(dir, name))
}

func (d *doors) close() error {
	var all []error
	for _, l := range []net.Listener{d.status, d.mcpSocket, d.mcp} {
		if l != nil {
			all = append(all, l.Close())
		}
	}
	return errors.Join(all...)
}

// serveHTTP serves until ctx ends, then closes the door and gives answers under way a moment to leave.
func serveHTTP(ctx context.Context, s *http.Server, l net.Listener) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err := s.Shutdown(end)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.Close() // waiting callers learn their outcome with explain
		}
		stopped <- err
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

func (k *core) folders() registry.Folders {
	return registry.Folders{Assets: k.config.Folders.Assets, Contracts: k.config.Folders.Contracts, Profiles: k.config.Folders.Profiles}
}

// reloadOnHangup reads the folders again whenever SIGHUP comes.
func reloadOnHangup(ctx context.Context, k *core, log *slog.Logger) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			tellReloading(log, func() { _, _ = k.reload(ctx, log, true) })
		}
	}
}

// alive reports whether the parts that everything waits for still answer.
func (k *core) alive(context.Context) bool {
	k.corridor.Running()
	k.field.Stats()
	return k.registry.Snapshot() != nil
}
