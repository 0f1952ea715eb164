package modbus

import (
	"fmt"
	"io"
	"net"
	"testing"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
)

// Function 3 for ten registers, one request after the other, on loopback. The server is the test's own.
func benchmarkTen(b *testing.B, read func(c *conn) func(at []hal.Address) []hal.Sample) {
	s := serve(b, faultserver.Options{Memory: &faultserver.Oracle{}})
	c := open(b, s.Addr(), "{unit_id: 1}")
	var batch []hal.Address
	u16, _ := typeByName("uint16")
	for i := range 10 {
		batch = append(batch, &address{table: holdingRegister, start: i, count: 1, size: 2, typ: u16})
	}
	do := read(c)
	b.ReportAllocs()
	for b.Loop() {
		if s := do(batch); s[9].Err != nil {
			b.Fatal(s[9].Err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// The floor: the same bytes over the same server, without any checking, deadline or decoding.
func BenchmarkTenRegistersRawSocket(b *testing.B) {
	s := serve(b, faultserver.Options{Memory: &faultserver.Oracle{}})
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	request := encodeMBAP(1, 1, []byte{3, 0, 0, 0, 10})
	reply := make([]byte, 29)
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, reply); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

func BenchmarkTenRegistersBareConn(b *testing.B) {
	benchmarkTen(b, func(c *conn) func([]hal.Address) []hal.Sample {
		return func(at []hal.Address) []hal.Sample { return c.Read(b.Context(), "A", at) }
	})
}

func BenchmarkTenRegistersThroughLink(b *testing.B) {
	benchmarkTen(b, func(c *conn) func([]hal.Address) []hal.Sample {
		l := hal.NewLink("L", c, hal.LinkOptions{})
		b.Cleanup(func() { _ = l.Close(b.Context()) })
		return func(at []hal.Address) []hal.Sample { return l.Read(b.Context(), "A", at) }
	})
}

// BenchmarkDevices polls ten registers of each of some devices behind one link: what one more device costs.
func BenchmarkDevices(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := serve(b, faultserver.Options{Memory: &faultserver.Oracle{}})
			var devices []string
			for i := range n {
				devices = append(devices, fmt.Sprintf("{unit_id: %d}", 1+i))
			}
			c := openNamed(b, s.Addr(), devices)
			u16, _ := typeByName("uint16")
			var batch []hal.Address
			for i := range 10 {
				batch = append(batch, &address{table: holdingRegister, start: i, count: 1, size: 2, typ: u16})
			}
			b.ReportAllocs()
			for b.Loop() {
				for i := range n {
					if s := c.Read(b.Context(), fmt.Sprint(i), batch); s[9].Err != nil {
						b.Fatal(s[9].Err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/device")
		})
	}
}

// openNamed makes a connection with devices named 0, 1, 2, ...
func openNamed(b *testing.B, addr string, devices []string) hal.Conn {
	b.Helper()
	var specs []hal.DeviceSpec
	for i, d := range devices {
		specs = append(specs, hal.DeviceSpec{ID: fmt.Sprint(i), Link: "L", Options: node(b, d)})
	}
	c, err := New().Open(hal.LinkSpec{ID: "L", Transport: "modbus_tcp", Options: node(b, "{endpoint: \""+addr+"\"}")}, specs)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}
