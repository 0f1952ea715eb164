package modbusd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Frames with checks published elsewhere: serial line guides and field reports.
var published = []string{
	"01 03 0000 000A C5CD",
	"11 03 006B 0003 7687",
	"11 06 0001 0003 9A9B",
	"01 83 02 C0F1",
	"C9 10 00C0 0001 02 0000 8095",
}

func TestCRCAgreesWithPublishedFrames(t *testing.T) {
	for _, s := range published {
		b := raw(t, s)
		if got := AppendFrame(nil, b[0], b[1:len(b)-2]); !bytes.Equal(got, b) {
			t.Errorf("got % X, want % X", got, b)
		}
	}
}

func frame(t testing.TB, unit byte, pdu string) []byte { return AppendFrame(nil, unit, raw(t, pdu)) }

// takeAll adds the bytes in pieces and returns the frames that come out before and after silence.
func takeAll(f *framer, b []byte, piece int) (frames [][]byte) {
	take := func(silent bool) {
		for {
			got, ok := f.next(silent)
			if !ok {
				return
			}
			frames = append(frames, bytes.Clone(got))
		}
	}
	for len(b) > 0 {
		n := min(piece, len(b))
		f.add(b[:n])
		b = b[n:]
		take(false)
	}
	take(true)
	return frames
}

func TestRequestsAreFramedByLengthInAnySegmentation(t *testing.T) {
	var line []byte
	var want [][]byte
	for _, x := range exchanges[:15] {
		b := frame(t, 11, x.request)
		want, line = append(want, b), append(line, b...)
	}
	for piece := 1; piece <= len(line); piece++ {
		got := takeAll(&framer{}, line, piece)
		if len(got) != len(want) {
			t.Fatalf("pieces of %d: %d frames, want %d", piece, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("pieces of %d: frame %d is % X, want % X", piece, i, got[i], want[i])
			}
		}
	}
}

func TestNoiseOnTheLineCostsNoLaterRequest(t *testing.T) {
	good := frame(t, 11, "03 0000 0002")
	bad := bytes.Clone(good)
	bad[7] ^= 0x10
	for name, noise := range map[string][]byte{
		"leading zero":           {0},
		"bad CRC":                bad,
		"frame cut off":          good[:6],
		"begin of a long write":  {11, 16, 0, 0, 0, 100, 200, 1, 2, 3},
		"byte lost in the front": good[1:],
		"unknown function":       {11, 0x41, 0xAA, 0x55, 0x00, 0x01, 0x02},
		"a kilobyte of rubbish":  bytes.Repeat([]byte{0xA5}, 1024),
	} {
		got := takeAll(&framer{}, append(bytes.Clone(noise), good...), 16)
		if len(got) != 1 || !bytes.Equal(got[0], good) {
			t.Errorf("%s: got % X", name, got)
		}
	}
}

func TestUnknownFunctionIsFramedByItsCRC(t *testing.T) {
	want := frame(t, 11, "41 03 0102 0304")
	got := takeAll(&framer{}, append(bytes.Clone(want), frame(t, 11, "03 0000 0001")...), 3)
	if len(got) != 2 || !bytes.Equal(got[0], want) {
		t.Errorf("got % X", got)
	}
}

// serveLine runs ServeRTU on a pipe inside a synctest bubble and hands the client's end to fn.
func serveLine(t *testing.T, h Handler, line Line, fn func(net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ServeRTU(ctx, server, h, line) }()
		fn(client)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("line ended with %v", err)
		}
	})
}

func TestRTUAnswersWithItsCRC(t *testing.T) {
	serveLine(t, device{newRAM()}, Line{}, func(c net.Conn) {
		c.Write(frame(t, 11, "03 0001 0002"))
		got := make([]byte, 9)
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, frame(t, 11, "03 04 2001 2002")) {
			t.Errorf("got % X, %v", got, err)
		}
		c.Write(frame(t, 11, "41 00"))
		if _, err := io.ReadFull(c, got[:5]); err != nil || !bytes.Equal(got[:5], frame(t, 11, "C1 01")) {
			t.Errorf("unknown function: got % X, %v", got[:5], err)
		}
	})
}

func TestRTURecoversAfterSilence(t *testing.T) {
	serveLine(t, device{newRAM()}, Line{}, func(c net.Conn) {
		c.Write([]byte{11, 16, 0, 0, 0, 100, 200, 1, 2, 3})
		time.Sleep(time.Second) // the bubble's time: the master's time-out
		c.Write(frame(t, 11, "04 0000 0001"))
		got := make([]byte, 7)
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, frame(t, 11, "04 02 1000")) {
			t.Errorf("got % X, %v", got, err)
		}
	})
}

func TestNobodyAnswersABroadcast(t *testing.T) {
	d := device{newRAM()}
	serveLine(t, d, Line{}, func(c net.Conn) {
		c.Write(frame(t, 0, "06 0001 BEEF"))
		c.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := c.Read(make([]byte, 8)); n != 0 || err == nil {
			t.Errorf("a broadcast got %d bytes", n)
		}
	})
	if d.ram.words[HoldingRegister][1] != 0xBEEF {
		t.Error("the broadcast was not executed")
	}
}

func TestPacedLineTakesTheTimeOfItsCharacters(t *testing.T) {
	char := 573 * time.Microsecond // 11 bits at 19200 baud
	serveLine(t, device{newRAM()}, Line{Char: char}, func(c net.Conn) {
		for range 3 {
			start := time.Now()
			c.Write(frame(t, 11, "03 0000 0009"))
			if _, err := io.ReadFull(c, make([]byte, 23)); err != nil {
				t.Fatal(err)
			}
			want := (8+23)*char + char*7/2
			if got := time.Since(start); got != want {
				t.Errorf("took %v, want %v", got, want)
			}
		}
	})
}

func TestPacingEndsWithTheServer(t *testing.T) {
	serveLine(t, device{newRAM()}, Line{Char: time.Hour}, func(c net.Conn) {
		c.Write(frame(t, 11, "03 0000 0009"))
		synctest.Wait()
	})
}

func TestBrokenLineIsReported(t *testing.T) {
	client, server := net.Pipe()
	client.Close()
	if err := ServeRTU(t.Context(), server, device{newRAM()}, Line{}); !errors.Is(err, io.EOF) {
		t.Errorf("line ended with %v, want EOF", err)
	}
}

func FuzzFramer(f *testing.F) {
	for _, s := range published {
		f.Add(raw(f, s), uint8(3))
	}
	f.Add(bytes.Repeat([]byte{1, 16}, 300), uint8(200))
	f.Fuzz(func(t *testing.T, noise []byte, piece uint8) {
		good := frame(t, 11, "03 0000 0002")
		var fr framer
		for _, b := range takeAll(&fr, noise, int(piece)+1) {
			if len(b) < minFrame || !valid(b) {
				t.Fatalf("% X is no frame", b)
			}
		}
		// After silence a request is always found.
		got := takeAll(&fr, good, int(piece)+1)
		if len(got) != 1 || !bytes.Equal(got[0], good) {
			t.Fatalf("after % X: got % X", noise, got)
		}
	})
}
