package localapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// socketMode lets everybody on the box connect; who may do what is decided by peer credentials.
const socketMode = 0o666

// maxPath is the longest path of a unix socket, in bytes: sun_path without its closing zero (unix(7)).
const maxPath = 107

// probeTime is how long a living listener may take to let us connect.
const probeTime = 2 * time.Second

// InUseError says that a process listens on the socket already.
type InUseError struct {
	Path string
	PID  int32 // of the process that listens; 0 when the kernel does not say
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("the status socket %s is in use by %s; stop that one, or set folders.run in capd.yaml to another folder", e.Path, who)
}

// Listen makes the status socket, and its folder where that is missing. A socket that nobody listens on is replaced; one that is
// alive is an *InUseError. The caller holds the lock of the state folder, so two daemons never race for one socket here.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("localapi: the path of the socket %s has %d bytes, and a unix socket's has at most %d; set folders.run in capd.yaml to a shorter folder",
			path, len(path), maxPath)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("localapi: the folder of the status socket cannot be made: %w; set folders.run in capd.yaml to a folder that capd may write", err)
	}
	if err := clearStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("localapi: the status socket cannot be made: %w", err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("localapi: the status socket cannot be opened to others: %w", err), l.Close())
	}
	return l, nil
}

// clearStale removes a socket that nobody listens on.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("localapi: the status socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("localapi: %s is there already and is no socket; move it away, or set folders.run in capd.yaml to another folder", path)
	}
	conn, err := net.DialTimeout("unix", path, probeTime)
	if err == nil {
		return errors.Join(inUse(path, conn), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("localapi: cannot find out who listens on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("localapi: the old status socket cannot be removed: %w", err)
	}
	return nil
}

func inUse(path string, conn net.Conn) error {
	e := &InUseError{Path: path}
	if cred, err := credentials(conn); err == nil {
		e.PID = cred.Pid
	}
	return e
}
