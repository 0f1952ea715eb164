package modbus

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// holder names the process that has a device open, as far as this one may see it.
func holder(path string) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "another process"
	}
	pid := locker(st)
	if pid == 0 {
		pid = opener(st)
	}
	switch pid {
	case 0:
		return "another process"
	case os.Getpid():
		return "this process itself: is another link on the same port?"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (process %d)", strings.TrimSpace(string(name)), pid)
}

// locker is the process that holds a lock on a file, 0 if none is known. A line of /proc/locks (proc(5)) reads
// "1: FLOCK ADVISORY WRITE 1234 00:18:5 0 EOF": process, then device and inode.
func locker(st unix.Stat_t) int {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for line := range strings.Lines(string(locks)) {
		if f := strings.Fields(line); len(f) > 5 && f[5] == file {
			if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}

// opener is a process that has a device open, 0 if none can be seen.
func opener(st unix.Stat_t) int {
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, f := range files {
		var open unix.Stat_t
		if unix.Stat(f, &open) != nil || open.Mode&unix.S_IFMT != unix.S_IFCHR || open.Rdev != st.Rdev {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(f, "/")[2]); err == nil {
			return pid
		}
	}
	return 0
}
