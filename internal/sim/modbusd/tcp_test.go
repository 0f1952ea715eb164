package modbusd

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"
)

// startTCP serves h on a fresh port and returns its address. The server must end cleanly with the test.
func startTCP(t *testing.T, h Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ServeTCP(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("server ended with %v", err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	return conn
}

// expect reads exactly the bytes of want.
func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	b := raw(t, want)
	got := make([]byte, len(b))
	if n, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, b) {
		t.Fatalf("got % X (%v), want % X", got[:n], err, b)
	}
}

func TestReplyCarriesTransactionAndUnit(t *testing.T) {
	conn := dial(t, startTCP(t, device{newRAM()}))
	conn.Write(raw(t, "BEEF 0000 0006 01 03 0001 0002"))
	expect(t, conn, "BEEF 0000 0007 01 03 04 2001 2002")
	conn.Write(raw(t, "0001 0000 0002 FF 07"))
	expect(t, conn, "0001 0000 0003 FF 87 01")
}

func TestSeveralRequestsInOneSegmentAreAnsweredInOrder(t *testing.T) {
	conn := dial(t, startTCP(t, device{newRAM()}))
	conn.Write(raw(t, "0001 0000 0006 01 03 0000 0001  0002 0000 0006 01 06 0000 1234  0003 0000 0006 01 03 0000 0001"))
	expect(t, conn, "0001 0000 0005 01 03 02 2000  0002 0000 0006 01 06 0000 1234  0003 0000 0005 01 03 02 1234")
}

func TestRequestSplitIntoBytesIsAnswered(t *testing.T) {
	conn := dial(t, startTCP(t, device{newRAM()}))
	for _, b := range raw(t, "0007 0000 000B 01 10 0001 0002 04 000A 0102") {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, conn, "0007 0000 0006 01 10 0001 0002")
}

// The length of the header covers two bytes more than the function needs: they are consumed with their frame.
func TestSurplusBytesDoNotPoisonTheNextRequest(t *testing.T) {
	conn := dial(t, startTCP(t, device{newRAM()}))
	conn.Write(raw(t, "0001 0000 000B 01 10 0000 0001 02 1234 AABB  0002 0000 0006 01 03 0000 0001"))
	expect(t, conn, "0001 0000 0003 01 90 03  0002 0000 0005 01 03 02 2000")
}

func TestSilentUnitLeavesTheConnectionOpen(t *testing.T) {
	conn := dial(t, startTCP(t, device{newRAM()}))
	conn.Write(raw(t, "0001 0000 0006 02 03 0000 0001  0002 0000 0006 01 03 0000 0001"))
	expect(t, conn, "0002 0000 0005 01 03 02 2000")
}

func TestBrokenFrameClosesItsConnectionOnly(t *testing.T) {
	addr := startTCP(t, device{newRAM()})
	good := dial(t, addr)
	for name, frame := range map[string]string{
		"other protocol":   "0001 0001 0006 01 03 0000 0001",
		"no function":      "0001 0000 0001 01",
		"nothing":          "0001 0000 0000",
		"length 255":       "0001 0000 00FF 01 03 0000 0001",
		"length corrupted": "0001 0000 FFFF 01 03 0000 0001",
	} {
		conn := dial(t, addr)
		conn.Write(raw(t, frame))
		// A reset in place of an end of stream is fine too: unread bytes were thrown away.
		if b, _ := io.ReadAll(conn); len(b) != 0 {
			t.Errorf("%s: answered % X", name, b)
		}
	}
	cut := dial(t, addr)
	cut.Write(raw(t, "0001 0000 0006 01 03"))
	cut.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(cut); len(b) != 0 || err != nil {
		t.Errorf("cut off request: % X, %v", b, err)
	}
	good.Write(raw(t, "0001 0000 0006 01 03 0000 0001"))
	expect(t, good, "0001 0000 0005 01 03 02 2000")
}

// stuck answers unit 1 when it is let go; other units at once.
type stuck struct {
	entered chan struct{}
}

func (s stuck) Serve(ctx context.Context, unit byte, pdu []byte) []byte {
	if unit == 1 {
		close(s.entered)
		<-ctx.Done()
		return nil
	}
	return Refuse(pdu, IllegalFunction)
}

func TestSlowClientDelaysNobodyAndEndsWithTheServer(t *testing.T) {
	s := stuck{make(chan struct{})}
	addr := startTCP(t, s)
	slow, quick := dial(t, addr), dial(t, addr)
	slow.Write(raw(t, "0001 0000 0002 01 07"))
	<-s.entered
	quick.Write(raw(t, "0001 0000 0002 03 07"))
	expect(t, quick, "0001 0000 0003 03 87 01")
}

func TestBrokenListenerIsReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := ServeTCP(t.Context(), l, device{newRAM()}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a server without a listener ended without an error")
	}
}

func TestManyClientsGetTheirOwnReplies(t *testing.T) {
	addr := startTCP(t, lockedDevice{device: device{newRAM()}, mu: new(sync.Mutex)})
	var clients sync.WaitGroup
	for c := range 8 {
		conn := dial(t, addr)
		clients.Go(func() {
			for i := range 200 {
				request := []byte{byte(c), byte(i), 0, 0, 0, 6, 1, 4, 0, byte(c), 0, 1}
				want := []byte{byte(c), byte(i), 0, 0, 0, 5, 1, 4, 2, 0x10, byte(c)}
				got := make([]byte, len(want))
				conn.Write(request)
				if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
					t.Errorf("client %d: got % X (%v), want % X", c, got, err, want)
					return
				}
			}
		})
	}
	clients.Wait()
}

type lockedDevice struct {
	device
	mu *sync.Mutex
}

func (d lockedDevice) Serve(ctx context.Context, unit byte, pdu []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.device.Serve(ctx, unit, pdu)
}

func BenchmarkReadTenRegistersTCP(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- ServeTCP(ctx, l, lockedDevice{device{newRAM()}, new(sync.Mutex)}, slog.New(slog.DiscardHandler))
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	request := []byte{0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 9}
	reply := make([]byte, 9+18)
	for b.Loop() {
		conn.Write(request)
		if _, err := io.ReadFull(conn, reply); err != nil {
			b.Fatal(err)
		}
	}
	conn.Close()
	cancel()
	<-done
}
