package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const lockRetry = 20 * time.Millisecond

// Lock makes the caller the only owner of an open file or folder (flock(2)), until f is closed. It tries for as long
// as timeout, at least once, then returns *LockedError with the owner, if it can be found.
func Lock(f *os.File, timeout time.Duration) error {
	for end := time.Now().Add(timeout); ; time.Sleep(lockRetry) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case !time.Now().Before(end):
			return lockedBy(f)
		}
	}
}

// lockedBy names the owner of f's lock as far as /proc tells.
func lockedBy(f *os.File) *LockedError {
	e := &LockedError{Path: f.Name()}
	info, err := f.Stat()
	if err != nil {
		return e
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return e
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return e
	}
	defer locks.Close()
	e.PID = ownerIn(locks, uint64(st.Dev), st.Ino)
	if e.PID > 0 {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", e.PID)); err == nil {
			e.Command = strings.TrimSpace(string(name))
		}
	}
	return e
}

// ownerIn finds the process that owns a lock on the inode in a list in the form of /proc/locks (proc(5)), 0 if none.
// Some file systems (btrfs) show another device there than stat(2) does; then the inode alone decides.
func ownerIn(list io.Reader, dev, inode uint64) (pid int) {
	exact := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), inode)
	alike := fmt.Sprintf(":%d", inode)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 1234 fe:00:2621485 0 EOF; one who waits has "->" in the second place.
		field := strings.Fields(lines.Text())
		if len(field) < 6 || field[1] == "->" {
			continue
		}
		owner, err := strconv.Atoi(field[4])
		if err != nil || owner <= 0 {
			continue
		}
		if field[5] == exact {
			return owner
		}
		if strings.HasSuffix(field[5], alike) {
			pid = owner
		}
	}
	return pid
}
