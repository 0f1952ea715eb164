package app

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"capd/internal/registry"
)

const (
	// quietTime is how long the folders must rest before they are read: an editor or a copy writes a file in several steps.
	quietTime = 300 * time.Millisecond
	// lookPeriod is how often the folders are looked at besides: the system's watch ends with a folder that is replaced, sees nothing of a
	// network's file system, and may be refused.
	lookPeriod = 10 * time.Second
)

// folderWatch sees changes of the folders: at once where the system tells them, else by looking.
type folderWatch struct {
	folders []string
	notify  *fsnotify.Watcher // nil where the system gives none
	quiet   time.Duration
	period  time.Duration
	seen    string // how the folders looked last
	log     *slog.Logger
}

// openWatch begins to watch the folders; it is opened before they are read for the first time, so that no change is missed.
func openWatch(f registry.Folders, log *slog.Logger) *folderWatch {
	w := &folderWatch{folders: []string{f.Assets, f.Contracts, f.Profiles}, quiet: quietTime, period: lookPeriod, log: log}
	var err error
	if w.notify, err = fsnotify.NewWatcher(); err != nil {
		log.Warn("the system tells no changes of folders; they are looked at instead", "every", w.period, "error", err)
		w.notify = nil
	}
	w.settle()
	return w
}

// run calls reload after the folders changed and came to rest, until ctx ends.
func (w *folderWatch) run(ctx context.Context, reload func(context.Context)) {
	rest := time.NewTimer(time.Hour)
	rest.Stop()
	look := time.NewTicker(w.period)
	defer look.Stop()
	var events chan fsnotify.Event // nil: never ready
	var errs chan error
	if w.notify != nil {
		events, errs = w.notify.Events, w.notify.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-errs:
			w.log.Warn("watch", "error", err) // events may be lost: read the folders again
			rest.Reset(w.quiet)
		case event := <-events:
			if event.Op != fsnotify.Chmod {
				rest.Reset(w.quiet)
			}
		case <-look.C:
			if now := w.looks(); now != w.seen {
				w.seen = now
				rest.Reset(w.quiet)
			}
		case <-rest.C:
			w.settle()
			reload(ctx)
		}
	}
}

// settle notes how the folders look, and watches those that have their names now. It comes before they are read.
func (w *folderWatch) settle() {
	for _, dir := range w.folders {
		if w.notify == nil {
			break
		}
		_ = w.notify.Remove(dir) // it fails where the watch ended with the folder that it was on
		if err := w.notify.Add(dir); err != nil {
			w.log.Debug("folder is not watched; it is looked at", "folder", dir, "every", w.period, "error", err)
		}
	}
	w.seen = w.looks()
}

// looks is a text that changes with the folders and the files in them: which ones there are, and what is read without opening them.
func (w *folderWatch) looks() string {
	var b strings.Builder
	for _, dir := range w.folders {
		info, err := os.Stat(dir)
		fmt.Fprintf(&b, "%s %s %v\n", dir, identity(info), err)
		entries, err := os.ReadDir(dir)
		fmt.Fprintf(&b, "%d %v\n", len(entries), err)
		for _, e := range entries {
			info, err := os.Stat(dir + "/" + e.Name()) // of what a link leads to
			fmt.Fprintf(&b, "%s %s %v\n", e.Name(), identity(info), err)
		}
	}
	return b.String()
}

// identity tells a file from another one of the same name, and from itself before a change of content or mode.
func identity(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	inode := uint64(0)
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = uint64(s.Ino)
	}
	if info.IsDir() {
		return fmt.Sprintf("folder %d %s", inode, info.Mode())
	}
	return fmt.Sprintf("%d %s %d %d", inode, info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// close ends the watch.
func (w *folderWatch) close() error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Close()
}
