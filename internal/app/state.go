package app

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// stateProblem says what to do when a part of the state, registry.db or journal, cannot be opened. Errors that name a next step of their own
// pass as they are.
func stateProblem(path string, err error) error {
	next, dir := "", filepath.Dir(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		next = fmt.Sprintf("; let the user that capd runs as own %s and what is in it (chown -R capd %s), or set folders.state in capd.yaml to another folder", dir, dir)
	case errors.Is(err, syscall.EROFS):
		next = fmt.Sprintf("; the file system of %s is read-only: find out why (dmesg), and make it writable, or set folders.state in capd.yaml to another folder", dir)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		next = fmt.Sprintf("; free space on the file system of %s, then start capd again", dir)
	case errors.Is(err, syscall.EISDIR):
		next = fmt.Sprintf("; %s must be a file, and capd makes it: move that folder away", path)
	case errors.Is(err, syscall.ENOTDIR):
		next = fmt.Sprintf("; %s must be a folder, and capd makes it: move that file away", path)
	}
	return fmt.Errorf("the state cannot be opened: %w%s", err, next)
}
