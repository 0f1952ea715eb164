package modbus

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"capd/internal/hal"
	"capd/internal/sim/modbusd"
)

// zeros is a device whose registers are all 0.
type zeros struct{}

func (zeros) Serve(_ context.Context, _ byte, pdu []byte) []byte {
	n := 2 * int(binary.BigEndian.Uint16(pdu[3:]))
	return append([]byte{pdu[0], byte(n)}, make([]byte, n)...)
}

// BenchmarkPacedLine reads registers over a pseudo-terminal that is as slow as a real line, and reports the part of the physical limit that
// is reached: request, silence, answer, silence, one after the other.
func BenchmarkPacedLine(b *testing.B) {
	for _, baud := range []int{19200, 115200} {
		for _, registers := range []int{10, 125} {
			b.Run(fmt.Sprintf("%d_baud_%d_registers", baud, registers), func(b *testing.B) {
				char := 11 * time.Second / time.Duration(baud)
				c := pacedLine(b, baud, char)
				u16, _ := typeByName("uint16")
				var at []hal.Address
				for i := range registers {
					at = append(at, &address{table: holdingRegister, start: i, count: 1, size: 2, typ: u16})
				}
				gap := max(7*char/2, fastGap)
				limit := time.Duration(8+5+2*registers)*char + 7*char/2 + gap // the device answers after 3.5 characters at any speed
				for b.Loop() {
					if s := c.Read(b.Context(), "A", at); s[0].Err != nil {
						b.Fatal(s[0].Err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
				b.ReportMetric(float64(limit)*float64(b.N)/float64(b.Elapsed()), "of_limit")
			})
		}
	}
}

func pacedLine(b *testing.B, baud int, char time.Duration) *conn {
	b.Helper()
	master, path := openPTY(b)
	c := openRTU(b, fmt.Sprintf("{port: %s, baud: %d, parity: even}", path, baud), "{unit_id: 1}")
	ctx, cancel := context.WithCancel(b.Context())
	var server sync.WaitGroup
	b.Cleanup(func() { cancel(); server.Wait() })
	server.Go(func() {
		sleep := func(d time.Duration) {
			ts := unix.NsecToTimespec(int64(d))
			_ = unix.Nanosleep(&ts, nil)
		}
		_ = modbusd.ServeRTU(ctx, master, zeros{}, modbusd.Line{Char: char, Sleep: sleep})
	})
	return c
}
