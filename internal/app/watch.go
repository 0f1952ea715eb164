package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"

	"capd/internal/registry"
)

// quietTime is how long the folders must rest before they are read: an editor or a copy writes a file in several steps.
const quietTime = 300 * time.Millisecond

// watchFolders calls reload after the folders changed and came to rest, until ctx ends. A nil watch does nothing.
func watchFolders(ctx context.Context, w *fsnotify.Watcher, log *slog.Logger, reload func(context.Context)) {
	if w == nil {
		return
	}
	rest := time.NewTimer(time.Hour)
	rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-w.Errors:
			log.Warn("watch", "error", err) // events may be lost: read the folders again
			rest.Reset(quietTime)
		case event := <-w.Events:
			if event.Op != fsnotify.Chmod {
				rest.Reset(quietTime)
			}
		case <-rest.C:
			reload(ctx)
		}
	}
}

// openWatch begins to watch the folders; it is opened before they are read for the first time, so that no change is missed. Where
// the system gives no watch, it says so and capd reload remains.
func openWatch(f registry.Folders, log *slog.Logger) *fsnotify.Watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("folders are not watched; use capd reload after a change", "error", err)
		return nil
	}
	for _, dir := range []string{f.Assets, f.Contracts, f.Profiles} {
		if err := w.Add(dir); err != nil {
			log.Warn("folder is not watched; use capd reload after a change in it", "folder", dir, "error", err)
		}
	}
	return w
}
