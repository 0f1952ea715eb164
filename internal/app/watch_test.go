package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"capd/internal/registry"
)

// folders is three folders that are watched; reloads tells of every reading. Without notify the watch only looks.
func folders(t *testing.T, notify bool) (dir string, reloads <-chan struct{}) {
	t.Helper()
	dir = t.TempDir()
	f := registry.Folders{Assets: filepath.Join(dir, "a"), Contracts: filepath.Join(dir, "c"), Profiles: filepath.Join(dir, "p")}
	for _, folder := range []string{f.Assets, f.Contracts, f.Profiles} {
		must(t, os.Mkdir(folder, 0o755))
	}
	w := openWatch(f, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if !notify {
		must(t, w.close())
		w.notify = nil
	}
	w.quiet, w.period = 20*time.Millisecond, 20*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx, func(context.Context) { told <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		must(t, w.close())
	})
	return dir, told
}

func TestEveryChangeOfAFolderIsSeen(t *testing.T) {
	for name, notify := range map[string]bool{"told by the system": true, "by looking": false} {
		t.Run(name, func(t *testing.T) {
			dir, reloads := folders(t, notify)
			in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
			for _, step := range []struct {
				what   string
				change func() error
			}{
				{"a new file", func() error { return os.WriteFile(in("c", "x.yaml"), []byte("1"), 0o600) }},
				{"another content", func() error { return os.WriteFile(in("c", "x.yaml"), []byte("22"), 0o600) }},
				{"another mode", func() error { return os.Chmod(in("c", "x.yaml"), 0o644) }},
				{"a folder that is gone", func() error { return os.Rename(in("c"), in("old")) }},
				{"another folder of its name", func() error { return os.Mkdir(in("c"), 0o755) }},
				{"a file in that one", func() error { return os.WriteFile(in("c", "y.yaml"), []byte("1"), 0o600) }},
				{"a folder made from the old one", func() error {
					if err := os.Rename(in("c"), in("older")); err != nil {
						return err
					}
					return os.Rename(in("old"), in("c"))
				}},
				{"a file in the one that came back", func() error { return os.WriteFile(in("c", "z.yaml"), []byte("1"), 0o600) }},
				{"a link in its place", func() error {
					if err := os.Rename(in("c"), in("old")); err != nil {
						return err
					}
					return os.Symlink(in("older"), in("c"))
				}},
				{"a file behind the link", func() error { return os.WriteFile(in("older", "w.yaml"), []byte("1"), 0o600) }},
			} {
				must(t, step.change())
				select {
				case <-reloads:
				case <-time.After(time.Minute):
					t.Fatalf("%s was not seen", step.what)
				}
				drain(reloads)
			}
		})
	}
}

// drain waits until a change is told no more.
func drain(reloads <-chan struct{}) {
	for {
		select {
		case <-reloads:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}
