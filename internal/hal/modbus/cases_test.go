package modbus

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

// TestPublishedFrames plays the frames of public bug reports, one folder each: the device's bytes and what must come of them.
func TestPublishedFrames(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*/case.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			n, ps := document.Parse(f, data)
			if ps.Err() != nil {
				t.Fatal(ps)
			}
			playCase(t, n)
		})
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func texts(n *document.Node) []string {
	var out []string
	for _, i := range n.Items() {
		out = append(out, i.Text())
	}
	return out
}

// replay answers with recorded segments. Their transaction numbers move along when the client asks again.
func replay(t *testing.T, n *document.Node, first uint16, done *atomic.Bool, asked *[]byte) func(faultserver.Request, []byte) [][]byte {
	recorded := n.Get("reply").Items()
	whole := len(unhex(t, recorded[0].Text())) >= 6
	return func(r faultserver.Request, right []byte) [][]byte {
		if done.Load() {
			return [][]byte{right}
		}
		if *asked == nil {
			*asked = faultserver.Frame(r.TID, r.Unit, r.PDU)
		}
		var out [][]byte
		for _, item := range recorded {
			segment := unhex(t, item.Text())
			if tid := binary.BigEndian.Uint16(append(segment, 0)); whole && tid != 0 {
				binary.BigEndian.PutUint16(segment, tid+r.TID-first)
			}
			out = append(out, segment)
		}
		return out
	}
}

// replayRTU answers with recorded segments of a serial line.
func replayRTU(t *testing.T, n *document.Node, done *atomic.Bool, asked *[]byte) func(faultserver.Request, []byte) [][]byte {
	return func(r faultserver.Request, right []byte) [][]byte {
		if done.Load() {
			return [][]byte{right}
		}
		if *asked == nil {
			*asked = faultserver.FrameRTU(r.Unit, r.PDU)
		}
		var out [][]byte
		for _, item := range n.Get("reply").Items() {
			out = append(out, unhex(t, item.Text()))
		}
		return out
	}
}

func playCase(t *testing.T, n *document.Node) {
	onLine := n.Get("wire").Text() == "rtu"
	device := "{unit_id: 1, timeout: 3s}"
	if onLine {
		device = "{unit_id: 1, timeout: 300ms}"
	}
	if d := n.Get("device"); d != nil {
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		device = string(text)
	}
	var healthy atomic.Bool
	var asked []byte
	var c *conn
	if onLine {
		gap, _ := time.ParseDuration(n.Get("gap").Text()) // none when absent
		c, _ = line(t, faultserver.Options{Memory: &faultserver.Oracle{}, Rewrite: replayRTU(t, n, &healthy, &asked), Gap: gap}, device)
	} else {
		first := binary.BigEndian.Uint16(unhex(t, n.Get("tid").Text()))
		s := serve(t, faultserver.Options{Memory: &faultserver.Oracle{}, Rewrite: replay(t, n, first, &healthy, &asked)})
		c = open(t, s.Addr(), device)
		c.ch.framing.(*mbap).tid = first - 1
	}

	got := outcomes(t, c, n, device)
	if want := texts(n.Get("want")); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r := n.Get("request"); r != nil && string(asked) != string(unhex(t, r.Text())) {
		t.Errorf("asked % X, want %s", asked, r.Text())
	}
	healthy.Store(true)
	after := patiently(t, c, pointOn(t, "{table: input_register, address: 500, type: uint16}", device, ""))
	if after.Err != nil {
		t.Fatalf("the next read fails: %v", after.Err)
	}
	v := binary.BigEndian.Uint16(after.Raw)
	if m := faultserver.Moment(c.devices["A"].unit, faultserver.InputRegisters, 500, v); m == 0 || m > 30 {
		t.Errorf("the next read gives %d, which is not that register's", v)
	}
}

// outcomes reads or writes what the case says and puts the results into words.
func outcomes(t *testing.T, c *conn, n *document.Node, device string) []string {
	t.Helper()
	place := func(n *document.Node) *address {
		text, err := n.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return pointOn(t, string(text), device, "")
	}
	if w := n.Get("write"); w != nil {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		value := physical.FlagOf(n.Get("value").Text() == "true")
		if i, ok := n.Get("value").Int(); ok {
			value = physical.IntOf(i)
		}
		ack, err := c.Write(ctx, "A", place(w), value)
		return []string{inWords(hal.Sample{Value: physical.TextOf(fmt.Sprintf("%X", ack.Raw)), Quality: physical.Good, Err: err}, true)}
	}
	var points []*address
	for _, p := range n.Get("read").Items() {
		points = append(points, place(p))
	}
	var out []string
	for _, s := range read(t, c, points...) {
		out = append(out, inWords(s, false))
	}
	return out
}

func inWords(s hal.Sample, isWrite bool) string {
	if e := hal.AsError(s.Err); e != nil {
		text := "error " + e.Kind.String()
		if e.Code != 0 {
			text += fmt.Sprintf(" %d", e.Code)
		}
		if isWrite && e.MaySent {
			text += " sent"
		}
		return text
	}
	if s.Quality != physical.Good {
		return fmt.Sprintf("%s %s", s.Quality, s.Cause)
	}
	return s.Value.String()
}
