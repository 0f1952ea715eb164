package app

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// portTaken explains why an address cannot be listened on, and by whom it is taken, where the system tells.
func portTaken(address string, err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("cannot listen on %s: %w; set mcp.listen in capd.yaml", address, err)
	}
	by := ""
	if who := holder(address); who != "" {
		by = " by " + who
	}
	return fmt.Errorf("%s is already taken%s; stop that program or set mcp.listen in capd.yaml to another port", address, by)
}

// holder names the process that listens on an address: it finds the socket's inode in /proc/net/tcp and the process that has it
// open. "" when the system does not tell.
func holder(address string) string {
	_, portText, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return ""
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if inode := listeningInode(table, port); inode != "" {
			return processWith("socket:[" + inode + "]")
		}
	}
	return ""
}

// listeningInode is the inode of the socket that listens on a port (proc(5), /proc/net/tcp: state 0A is LISTEN).
func listeningInode(table string, port int) string {
	f, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	suffix := fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" {
			return fields[9]
		}
	}
	return ""
}

func processWith(link string) string {
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, path := range links {
		if target, err := os.Readlink(path); err == nil && target == link {
			pid := strings.Split(path, "/")[2]
			name, err := os.ReadFile("/proc/" + pid + "/comm")
			if err != nil {
				return "process " + pid
			}
			return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), pid)
		}
	}
	return ""
}
