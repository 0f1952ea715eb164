package sim

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal as a serial line: the plant reads and writes the master, clients open path. The slave is held open,
// so that the line stays when a client closes it.
type terminal struct {
	*os.File
	slave *os.File
	path  string
}

// openTerminal makes a raw pseudo-terminal (ptmx(4)).
func openTerminal() (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	t := &terminal{File: master}
	if err := t.openSlave(); err != nil {
		master.Close()
		return nil, err
	}
	return t, nil
}

func (t *terminal) openSlave() error {
	var number uint32
	err := control(t.File, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return fmt.Errorf("unlock /dev/ptmx: %w", err)
		}
		if number, err = unix.IoctlGetUint32(fd, unix.TIOCGPTN); err != nil {
			return fmt.Errorf("number of /dev/ptmx: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.path = fmt.Sprintf("/dev/pts/%d", number)
	if t.slave, err = os.OpenFile(t.path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0); err != nil {
		return err
	}
	if err := control(t.slave, makeRaw); err != nil {
		t.slave.Close()
		return fmt.Errorf("raw mode of %s: %w", t.path, err)
	}
	return nil
}

// Close ends the line; clients see a hang-up.
func (t *terminal) Close() error {
	t.slave.Close()
	return t.File.Close()
}

// makeRaw is cfmakeraw of termios(3): no echo, no translation, a read returns what there is.
func makeRaw(fd int) error {
	tio, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	tio.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	tio.Oflag &^= unix.OPOST
	tio.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	tio.Cflag = tio.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	tio.Cc[unix.VMIN], tio.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, tio)
}

// control runs fn on the file's descriptor without taking it from the runtime's poller.
func control(f *os.File, fn func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = fn(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// nanosleep sleeps on a thread, which is more punctual than a timer of the runtime.
func nanosleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early; the caller looks at the clock
}
