package store

import (
	"errors"
	"fmt"
	"os"
)

// Errors that callers branch on, besides the types below.
var (
	// ErrNotFound: the bucket has no such key.
	ErrNotFound = errors.New("not found")
	// ErrClosed: the file was closed.
	ErrClosed = errors.New("closed")
	// ErrReadOnly: a change was asked for inside View.
	ErrReadOnly = errors.New("read-only transaction")
	// ErrTxDone: a Tx was used after its View or Update ended.
	ErrTxDone = errors.New("transaction has ended")
)

// CorruptError says that a file is not what was once written.
type CorruptError struct {
	Path   string
	Reason string // where and what
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("store: %s is damaged: %s. Stop capd, keep a copy of the file, then restore it from a backup, "+
		"or move it away to start empty (everything recorded in it is lost then, lockouts and tokens too)", e.Path, e.Reason)
}

// corrupt names the file of a damage found by checkFile; failures to read pass as they are.
func corrupt(path string, err error) error {
	var d damage
	if errors.As(err, &d) {
		return &CorruptError{Path: path, Reason: string(d)}
	}
	return fmt.Errorf("store: %s: %w", path, err)
}

// FormatError says that the format of a file is not one this program can use.
type FormatError struct {
	Path string
	Have int // of the file
	Want int // of this program
}

func (e *FormatError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("store: %s has format %d, this capd reads up to format %d; use the newer capd that wrote it, or restore a backup made before the upgrade",
			e.Path, e.Have, e.Want)
	}
	return fmt.Sprintf("store: %s has format %d, this capd writes format %d and knows no way from %d; run a capd version in between first",
		e.Path, e.Have, e.Want, e.Have)
}

// SizeError says that an update was refused because the file would exceed its cap.
type SizeError struct {
	Path string
	Max  int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("store: %s would grow above its cap of %d bytes; nothing was changed. Delete what is no longer needed, or raise the cap", e.Path, e.Max)
}

// LockedError says that a file or folder is owned by somebody else.
type LockedError struct {
	Path    string
	PID     int    // 0 if it cannot be known
	Command string // the process's name, empty if it cannot be known
}

func (e *LockedError) Error() string {
	switch {
	case e.PID == 0:
		return fmt.Sprintf("%s is in use by another process, which cannot be seen from here; \"fuser %s\" as root may name it", e.Path, e.Path)
	case e.PID == os.Getpid():
		return fmt.Sprintf("%s is in use by this process already (pid %d)", e.Path, e.PID)
	case e.Command == "":
		return fmt.Sprintf("%s is in use by process %d; stop it first, or use another state folder", e.Path, e.PID)
	}
	return fmt.Sprintf("%s is in use by process %d (%s); stop it first, or use another state folder", e.Path, e.PID, e.Command)
}
