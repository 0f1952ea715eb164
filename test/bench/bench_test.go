// Package bench holds capd's Modbus client against another Go client in the same run, on the same server. It is a module of its own,
// so that the other client is no dependency of capd.
//
//	go test -bench . ./
package bench

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/hal/modbus"

	simonvetter "github.com/simonvetter/modbus"
)

// serve answers every request with ten registers, as fast as it can. It looks at nothing but the transaction and the unit.
func serve(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var all sync.WaitGroup
	tb.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				request, reply := make([]byte, 12), make([]byte, 29)
				reply[5], reply[7], reply[8] = 23, 3, 20
				for {
					if _, err := io.ReadFull(c, request); err != nil {
						return
					}
					reply[0], reply[1], reply[6] = request[0], request[1], request[6]
					if _, err := c.Write(reply); err != nil {
						return
					}
				}
			})
		}
	})
	return l.Addr().String()
}

func node(tb testing.TB, text string) *document.Node {
	tb.Helper()
	n, ps := document.Parse("bench.yaml", []byte(text))
	if err := ps.Err(); err != nil {
		tb.Fatal(err)
	}
	return n
}

// ten is ten holding registers of one device of capd.
func ten(tb testing.TB, addr string) (hal.Conn, []hal.Address) {
	tb.Helper()
	driver := modbus.New()
	link := hal.LinkSpec{ID: "L", Transport: "modbus_tcp", Options: node(tb, "{endpoint: \""+addr+"\"}")}
	device := hal.DeviceSpec{ID: "D", Link: "L", Options: node(tb, "{unit_id: 1}")}
	c, err := driver.Open(link, []hal.DeviceSpec{device})
	if err != nil {
		tb.Fatal(err)
	}
	var at []hal.Address
	for i := range 10 {
		a, ps := driver.CheckPoint(link, device, hal.PointSpec{ID: "D.p", At: node(tb, fmt.Sprintf("{table: holding_register, address: %d, type: uint16}", i))})
		if err := ps.Err(); err != nil {
			tb.Fatal(err)
		}
		at = append(at, a)
	}
	return c, at
}

type reader func(tb testing.TB)

func bareConn(tb testing.TB, addr string) reader {
	c, at := ten(tb, addr)
	tb.Cleanup(func() { _ = c.Close() })
	return func(tb testing.TB) { check(tb, c.Read(context.Background(), "D", at)) }
}

func throughLink(tb testing.TB, addr string) reader {
	return linkOf(tb, addr, context.Background())
}

// throughLinkWith reads for a caller that could cancel, as the daemon's callers can.
func throughLinkWith(tb testing.TB, addr string) reader {
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	return linkOf(tb, addr, ctx)
}

func linkOf(tb testing.TB, addr string, ctx context.Context) reader {
	c, at := ten(tb, addr)
	l := hal.NewLink("L", c, hal.LinkOptions{})
	tb.Cleanup(func() { _ = l.Close(context.Background()) })
	return func(tb testing.TB) { check(tb, l.Read(ctx, "D", at)) }
}

func check(tb testing.TB, samples []hal.Sample) {
	if samples[9].Err != nil {
		tb.Fatal(samples[9].Err)
	}
}

func other(tb testing.TB, addr string) reader {
	c, err := simonvetter.NewClient(&simonvetter.ClientConfiguration{URL: "tcp://" + addr, Timeout: time.Second, Logger: log.New(io.Discard, "", 0)})
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Open(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return func(tb testing.TB) {
		if _, err := c.ReadRegisters(0, 10, simonvetter.HOLDING_REGISTER); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkTenRegisters reads function 3 for ten registers, one request after the other.
func BenchmarkTenRegisters(b *testing.B) {
	for _, client := range []struct {
		name string
		open func(testing.TB, string) reader
	}{{"simonvetter", other}, {"conn", bareConn}, {"link", throughLink}, {"link_cancellable", throughLinkWith}} {
		b.Run(client.name, func(b *testing.B) {
			read := client.open(b, serve(b))
			read(b)
			b.ReportAllocs()
			for b.Loop() {
				read(b)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

// BenchmarkAgainstSimonvetter takes turns with the other client, so that a busy machine slows both alike, and reports capd's speed
// as a part of its.
func BenchmarkAgainstSimonvetter(b *testing.B) {
	const turn = 250
	for _, client := range []struct {
		name string
		open func(testing.TB, string) reader
	}{{"conn", bareConn}, {"link", throughLink}, {"link_cancellable", throughLinkWith}} {
		b.Run(client.name, func(b *testing.B) {
			addr := serve(b)
			own, their := client.open(b, addr), other(b, addr)
			var ownTime, theirTime time.Duration
			run := func(read reader, spent *time.Duration) {
				started := time.Now()
				for range turn {
					read(b)
				}
				*spent += time.Since(started)
			}
			for b.Loop() {
				run(own, &ownTime)
				run(their, &theirTime)
			}
			b.ReportMetric(float64(b.N*turn)/ownTime.Seconds(), "capd_req/s")
			b.ReportMetric(float64(b.N*turn)/theirTime.Seconds(), "simonvetter_req/s")
			b.ReportMetric(float64(theirTime)/float64(ownTime), "of_simonvetter")
		})
	}
}
