// Package faultserver is a Modbus server for tests that misbehaves on command, as servers in the field do.
//
// Its promise: it takes every request off the wire by its length, executes it on its memory or not at all as the fault says, and
// remembers what it executed, so that a test can hold a client's belief against the truth. It is used by tests only and never by
// the daemon.
package faultserver

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Memory executes requests.
type Memory interface {
	// Execute gives the reply PDU to a request PDU. It is called by one goroutine at a time.
	Execute(unit byte, pdu []byte) []byte
}

// Request is one request as it arrived.
type Request struct {
	Conn   int    // number of the connection, from 1
	Number int    // number of the request on this server, from 1
	TID    uint16 // 0 with Options.RTU
	Unit   byte
	PDU    []byte
}

// Options say how the server behaves.
type Options struct {
	Memory Memory
	// Next chooses the fault of a request; nil means none ever.
	Next func(Request) Fault
	// Rewrite, when set, gives the segments to send instead of the right reply of a request without a fault.
	Rewrite func(r Request, reply []byte) [][]byte
	// Gap is the pause between the segments of Rewrite.
	Gap time.Duration
	// Late is how long a delayed reply takes; default 50 ms.
	Late time.Duration
	// RTU makes the frames those of a serial line, as a gateway passes them on. A delayed reply then delays those that follow it,
	// because a line keeps them in order. Requests to unit 0 are executed and not answered.
	RTU bool
}

// Server is a running server on 127.0.0.1.
type Server struct {
	o        Options
	listener net.Listener // nil on a line
	quit     chan struct{}
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    map[io.Closer]struct{}
	accepted int
	requests int
	closed   bool
}

// Start listens on 127.0.0.1, on any free port when addr is "".
func Start(addr string, o Options) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("faultserver: %w", err)
	}
	s := &Server{o: o.filled(), listener: l, quit: make(chan struct{}), conns: map[io.Closer]struct{}{}}
	s.running.Go(s.accept)
	return s, nil
}

// StartLine serves a line that is open already, such as the master end of a pseudo-terminal, with Options.RTU.
func StartLine(line io.ReadWriteCloser, o Options) *Server {
	o.RTU = true
	s := &Server{o: o.filled(), quit: make(chan struct{}), conns: map[io.Closer]struct{}{line: {}}, accepted: 1}
	p := &peer{s: s, conn: line, in: bufio.NewReader(line), number: 1}
	s.running.Go(p.serve)
	return s
}

func (o Options) filled() Options {
	if o.Late == 0 {
		o.Late = 50 * time.Millisecond
	}
	return o
}

// Addr is where the server listens, as host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Accepted is the number of connections made so far.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Requests is the number of requests that arrived so far.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Hangup closes all connections, with a reset instead of an orderly end when hard.
func (s *Server) Hangup(hard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		hangup(c, hard)
	}
}

func hangup(c io.Closer, hard bool) {
	if tcp, ok := c.(*net.TCPConn); ok && hard {
		_ = tcp.SetLinger(0) // a failure leaves an orderly end, which is a fault too
	}
	_ = c.Close()
}

// Close ends the server and waits for it.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.Hangup(false)
	s.running.Wait()
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		p := &peer{s: s, conn: c, in: bufio.NewReader(c), number: s.accepted}
		s.conns[c] = struct{}{}
		closed := s.closed
		s.mu.Unlock()
		if closed {
			_ = c.Close()
			return
		}
		s.running.Go(p.serve)
	}
}

// peer is one connection.
type peer struct {
	s      *Server
	conn   io.ReadWriteCloser
	in     *bufio.Reader
	number int
	mu     sync.Mutex // of writing, which delayed replies share
	held   []byte     // replies that come before the next one
}

func (p *peer) serve() {
	defer func() {
		_ = p.conn.Close()
		p.s.mu.Lock()
		delete(p.s.conns, p.conn)
		p.s.mu.Unlock()
	}()
	for {
		r, err := p.next()
		if err != nil || !p.answer(r) {
			return
		}
	}
}

// next takes one whole frame, whatever stands in it.
func (p *peer) next() (Request, error) {
	if p.s.o.RTU {
		return p.nextRTU()
	}
	var header [7]byte
	if _, err := io.ReadFull(p.in, header[:]); err != nil {
		return Request{}, err
	}
	length := int(binary.BigEndian.Uint16(header[4:]))
	if length < 2 || length > 254 {
		return Request{}, fmt.Errorf("length %d", length)
	}
	pdu := make([]byte, length-1)
	if _, err := io.ReadFull(p.in, pdu); err != nil {
		return Request{}, err
	}
	return p.request(binary.BigEndian.Uint16(header[:]), header[6], pdu), nil
}

func (p *peer) request(tid uint16, unit byte, pdu []byte) Request {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.requests++
	return Request{Conn: p.number, Number: p.s.requests, TID: tid, Unit: unit, PDU: pdu}
}

// answer deals with one request; false when the connection has ended.
func (p *peer) answer(r Request) bool {
	fault := None
	if p.s.o.Next != nil {
		fault = p.s.o.Next(r)
	}
	switch fault {
	case Swallow:
		return true
	case ResetBefore, CloseBefore:
		hangup(p.conn, fault == ResetBefore)
		return false
	}
	reply := p.execute(r)
	if p.s.o.RTU && r.Unit == 0 {
		return true
	}
	switch fault {
	case NoReply:
		return true
	case ResetAfter, CloseAfter:
		hangup(p.conn, fault == ResetAfter)
		return false
	case LateReply:
		p.held = append(p.held, p.frame(r, reply)...)
		return true
	case DelayedReply:
		if p.s.o.RTU {
			p.delay(append(p.held, p.frame(r, reply)...))
			p.held = nil
		} else {
			p.s.running.Go(func() { p.delay(p.frame(r, reply)) })
		}
		return true
	}
	gap := fault.gap()
	if fault == None {
		gap = p.s.o.Gap
	}
	return p.send(p.segments(fault, r, reply), gap) && fault != CloseInside
}

func (p *peer) frame(r Request, pdu []byte) []byte {
	if p.s.o.RTU {
		return FrameRTU(r.Unit, pdu)
	}
	return Frame(r.TID, r.Unit, pdu)
}

// segments are the writes that answer a request.
func (p *peer) segments(fault Fault, r Request, reply []byte) [][]byte {
	var out [][]byte
	switch {
	case fault == None && p.s.o.Rewrite != nil:
		out = p.s.o.Rewrite(r, p.frame(r, reply))
	case p.s.o.RTU:
		out = segmentsRTU(fault, r, reply)
	default:
		out = segments(fault, r, reply)
	}
	if len(p.held) > 0 {
		out = append([][]byte{p.held}, out...)
		p.held = nil
	}
	return out
}

func (p *peer) execute(r Request) []byte {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.o.Memory.Execute(r.Unit, r.PDU)
}

func (p *peer) delay(frame []byte) {
	timer := time.NewTimer(p.s.o.Late)
	defer timer.Stop()
	select {
	case <-timer.C:
		p.send([][]byte{frame}, 0)
	case <-p.s.quit:
	}
}

// send writes segments with pauses between them.
func (p *peer) send(segments [][]byte, gap time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range segments {
		if i > 0 && gap > 0 {
			timer := time.NewTimer(gap)
			select {
			case <-timer.C:
			case <-p.s.quit:
				timer.Stop()
				return false
			}
		}
		if _, err := p.conn.Write(s); err != nil {
			return false
		}
	}
	return true
}
