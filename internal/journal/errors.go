package journal

import (
	"errors"
	"fmt"
	"syscall"
)

// Errors that callers branch on, besides the types below and store.LockedError.
var (
	// ErrFailed: a write or sync failed; the journal takes nothing more until it is opened again. It comes as a *FailedError.
	ErrFailed = errors.New("journal failed")
	// ErrClosed: the journal was closed.
	ErrClosed = errors.New("journal closed")
	// ErrUncertain: the caller stopped waiting; the record may come to be on disk or not.
	ErrUncertain = errors.New("record may or may not be on disk")
	// ErrTooLarge: the payload is above MaxPayload.
	ErrTooLarge = errors.New("payload too large")
)

// FailedError says why the journal takes nothing more, and what a person does about it. It is ErrFailed.
type FailedError struct {
	Dir   string
	Cause error // the first failed write or sync
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("the journal in %s takes nothing more: %v; %s, then systemctl restart capd", e.Dir, e.Cause, e.remedy())
}

// remedy is what makes a disk writable again.
func (e *FailedError) remedy() string {
	switch {
	case errors.Is(e.Cause, syscall.ENOSPC), errors.Is(e.Cause, syscall.EDQUOT):
		return "free space on that file system"
	case errors.Is(e.Cause, syscall.EROFS):
		return "find out why that file system is read-only (dmesg), and make it writable"
	default:
		return "find out what that disk has (dmesg), and mend it"
	}
}

// Is makes every FailedError an ErrFailed.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

func (e *FailedError) Unwrap() error { return e.Cause }

// DamagedError says that something which was on disk is not what was written there.
type DamagedError struct {
	File   string
	Offset int64 // in bytes
	Seq    Seq   // that was to be found there; 0 if it is not known
	Reason string
}

func (e *DamagedError) Error() string {
	place := ""
	if e.Seq != 0 {
		place = fmt.Sprintf(" at byte %d (record %d)", e.Offset, e.Seq)
	}
	return fmt.Sprintf("journal: %s is damaged%s: %s; nothing was changed. Stop capd, keep a copy of the whole folder, "+
		"then restore it from a backup, or move it away to start a new journal (what was under way is then unknown to capd: check the machines)",
		e.File, place, e.Reason)
}

// FormatError says that a segment was written by another version of capd.
type FormatError struct {
	File string
	Have int // of the segment
	Want int // of this program
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("journal: %s has format %d, this capd reads format %d; use the capd that wrote it, or move the journal folder away to start a new one",
		e.File, e.Have, e.Want)
}
