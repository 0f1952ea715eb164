package modbus

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"capd/internal/hal"
)

// openPTY makes a pseudo-terminal: the master end as a file, and the path of the other end, which stays open for the test.
func openPTY(t testing.TB) (*os.File, string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	p := &port{File: master}
	var number uint32
	err = p.control(func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetUint32(fd, unix.TIOCGPTN)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", number)
	slave, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, path
}

// openRTU makes a connection to a serial port with devices named A, B, ... of these options.
func openRTU(t testing.TB, link string, devices ...string) *conn {
	t.Helper()
	return openLink(t, "modbus_rtu", link, devices...)
}

func openLink(t testing.TB, transport, link string, devices ...string) *conn {
	t.Helper()
	var specs []hal.DeviceSpec
	for i, d := range devices {
		specs = append(specs, hal.DeviceSpec{ID: string(rune('A' + i)), Link: "L", Options: node(t, d)})
	}
	c, err := New().Open(hal.LinkSpec{ID: "L", Transport: transport, Options: node(t, link)}, specs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*conn)
}
