package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"capd/internal/config"
)

func TestWhatStandsInTheWayOfTheStateIsNamedWithTheNextStep(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"registry.db is a folder": {func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "registry.db"), 0o700)) }, "/registry.db must be a file, and capd makes it: move that folder away"},
		"journal is a file":       {func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "journal"), nil, 0o600)) }, "/journal must be a folder, and capd makes it: move that file away"},
	} {
		dir := t.TempDir()
		c.prepare(t, dir)
		k := &core{config: config.Default()}
		k.config.Folders.State = dir
		err := k.openState(t.Context(), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		k.end(t)
	}
	for cause, want := range map[error]string{fs.ErrPermission: "chown -R capd /var/lib/capd", syscall.EACCES: "folders.state", syscall.EROFS: "read-only", syscall.ENOSPC: "free space"} {
		if err := stateProblem("/var/lib/capd/registry.db", fmt.Errorf("store: %w", cause)); !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
