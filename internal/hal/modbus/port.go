package modbus

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// port is an open serial port. Its reads and writes obey deadlines.
type port struct {
	*os.File
	exclusive bool
}

// openPort opens a serial port for this process alone and sets it up. It never waits for a carrier.
func openPort(s linkSettings) (*port, error) {
	f, err := os.OpenFile(s.port, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("in use by %s", holder(s.port))
	}
	if err != nil {
		return nil, err
	}
	p := &port{File: f}
	if err := p.control(func(fd int) error { return p.setUp(fd, s) }); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close gives the port back.
func (p *port) Close() error {
	if p.exclusive { // the mark would outlive this file while others have the port open
		_ = p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCNXCL, 0) }) // fails when the port is gone
	}
	return p.File.Close()
}

// control runs fn on the descriptor without taking it from the runtime's poller.
func (p *port) control(fn func(fd int) error) error {
	raw, err := p.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = fn(int(fd)) }); err != nil {
		return err
	}
	return inner
}

func (p *port) setUp(fd int, s linkSettings) error {
	pseudo, err := isPseudo(fd)
	if err != nil {
		return err
	}
	get, set := uint(unix.TCGETS2), uint(unix.TCSETS2)
	tio, err := unix.IoctlGetTermios(fd, get)
	if pseudo && errors.Is(err, unix.ENOTTY) { // emulators know no speeds of their own, and a pseudo-terminal needs none
		get, set = unix.TCGETS, unix.TCSETS
		tio, err = unix.IoctlGetTermios(fd, get)
	}
	if err != nil {
		return fmt.Errorf("this is no serial port: %w", err)
	}
	if err := p.claim(fd, s.port, pseudo); err != nil {
		return err
	}
	makeRaw(tio, s)
	if err := unix.IoctlSetTermios(fd, set, tio); err != nil && (!pseudo || !errors.Is(err, unix.EINVAL)) {
		return fmt.Errorf("%d baud, parity %s, %d stop bits: %w", s.baud, s.parity, s.stopBits, err)
	}
	if !pseudo {
		if err := accepted(fd, tio); err != nil {
			return err
		}
	}
	if s.rs485 != nil {
		if err := turnAround(fd, *s.rs485); err != nil {
			return fmt.Errorf("the port's driver does not turn an RS-485 line around; leave out rs485 if the adapter does it itself: %w", err)
		}
	}
	return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIOFLUSH)
}

// claim takes the port for this process. A pseudo-terminal whose other end holds it open as well would keep the kernel's mark when this
// process is killed, so there the lock alone has to do.
func (p *port) claim(fd int, path string, pseudo bool) error {
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("in use by %s", holder(path))
		}
		return err
	}
	if pseudo {
		return nil
	}
	if err := unix.IoctlSetInt(fd, unix.TIOCEXCL, 0); err != nil {
		return fmt.Errorf("cannot be had alone: %w", err)
	}
	p.exclusive = true
	return nil
}

// makeRaw makes a line of 8 data bits that carries bytes as they are, at any speed, and never hangs up (termios(3), cfmakeraw;
// ioctl_tty(2), termios2).
func makeRaw(tio *unix.Termios, s linkSettings) {
	tio.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON | unix.IXOFF | unix.IXANY | unix.INPCK
	tio.Oflag &^= unix.OPOST
	tio.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	tio.Cflag &^= unix.CSIZE | unix.PARENB | unix.PARODD | unix.CMSPAR | unix.CSTOPB | unix.CRTSCTS | unix.HUPCL | unix.CBAUD | unix.CIBAUD
	tio.Cflag |= unix.CS8 | unix.CREAD | unix.CLOCAL | unix.BOTHER
	switch s.parity {
	case parityEven:
		tio.Cflag |= unix.PARENB
	case parityOdd:
		tio.Cflag |= unix.PARENB | unix.PARODD
	}
	if s.stopBits == 2 {
		tio.Cflag |= unix.CSTOPB
	}
	if s.parity != parityNone {
		tio.Iflag |= unix.INPCK // a damaged character becomes 0 and spoils the check
	}
	tio.Ispeed, tio.Ospeed = uint32(s.baud), uint32(s.baud)
	tio.Cc[unix.VMIN], tio.Cc[unix.VTIME] = 1, 0
}

// accepted reports what the port made of its settings: drivers change without an error what they cannot do.
func accepted(fd int, want *unix.Termios) error {
	got, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return err
	}
	const shape = unix.CSIZE | unix.PARENB | unix.PARODD | unix.CSTOPB
	if got.Cflag&shape != want.Cflag&shape {
		return errors.New("the port cannot do this parity or number of stop bits")
	}
	if off := int64(got.Ospeed) - int64(want.Ospeed); max(off, -off)*50 > int64(want.Ospeed) {
		return fmt.Errorf("the port cannot do %d baud, the nearest is %d", want.Ospeed, got.Ospeed)
	}
	return nil
}

// isPseudo reports whether a terminal is a pseudo-terminal, which has no line that could have a speed or a parity (Linux,
// Documentation/admin-guide/devices.txt: majors 136 to 143).
func isPseudo(fd int) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	major := unix.Major(uint64(st.Rdev))
	return major >= 136 && major <= 143, nil
}

// The kernel's struct serial_rs485 and its flags (include/uapi/linux/serial.h).
type serialRS485 struct {
	flags                 uint32
	delayBefore, delayAft uint32 // milliseconds
	_                     [5]uint32
}

const (
	rs485Enabled      = 1 << 0
	rs485RTSOnSend    = 1 << 1
	rs485RTSAfterSend = 1 << 2
)

func turnAround(fd int, r rs485) error {
	k := serialRS485{flags: rs485Enabled | rs485RTSAfterSend, delayBefore: uint32(r.delayBefore.Milliseconds()), delayAft: uint32(r.delayAfter.Milliseconds())}
	if r.rtsOnSend {
		k.flags = rs485Enabled | rs485RTSOnSend
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSRS485, uintptr(unsafe.Pointer(&k))); errno != 0 {
		return errno
	}
	return nil
}
