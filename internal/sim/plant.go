// Package sim is the demo plant: pump station PS-07 with its PLC, drives, meter and relays, on real sockets of this machine.
//
// It promises that independent witnesses agree only when the machine really moved: one physics model drives every register of every
// unit, signals carry noise, and faults are switched on by name. It counts each request and each write that reaches a device.
// A speed factor shortens all of the plant's times alike.
//
// It never talks to a real machine, never listens on anything but the address it was given and its own pseudo-terminal, and never
// helps a client: what the register map does not name is answered with an exception.
package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"capd/internal/sim/modbusd"
)

// Options say how the plant runs.
type Options struct {
	Speed        float64      // 0.001 to 1000; 1, also the zero value, is real time, 10 is ten times faster
	ListenModbus string       // host:port of the TCP gateway, by default 127.0.0.1:0
	Log          *slog.Logger // nil logs nothing
	Seed         uint64       // of the signals' noise
	Serial       bool         // units 11, 21 and 31 answer on an RTU pseudo-terminal instead of through the TCP gateway
	Baud         int          // paces the serial line as its wire would, 11 bits a character at this rate times Speed; 0 does not pace
}

// Plant is a running plant. Its methods may be called from any goroutine.
type Plant struct {
	speed float64
	log   *slog.Logger

	listener net.Listener
	terminal *terminal // nil without Serial

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	model    *model
	counters Counters
	onWrite  func(WriteEvent)
	moved    chan struct{} // closed and replaced when the plant has moved on
	failure  error         // of a server
}

// Start builds the plant in its start state and sets it going. It ends when ctx does or on Close, which must be called in either case.
func Start(ctx context.Context, o Options) (*Plant, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Plant{
		speed:    o.Speed,
		log:      o.Log,
		model:    newModel(rand.New(rand.NewPCG(o.Seed, 7))),
		counters: Counters{WritesTo: map[string]int{}},
		moved:    make(chan struct{}),
	}
	if p.listener, err = net.Listen("tcp", o.ListenModbus); err != nil {
		return nil, fmt.Errorf("sim: modbus gateway: %w", err)
	}
	if o.Serial {
		if p.terminal, err = openTerminal(); err != nil {
			p.listener.Close()
			return nil, fmt.Errorf("sim: serial line: %w", err)
		}
	}
	ctx, p.cancel = context.WithCancel(ctx)
	p.serve(ctx, o)
	p.running.Go(func() { p.run(ctx) })
	return p, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Speed == 0 {
		o.Speed = 1
	}
	if !(o.Speed >= 0.001 && o.Speed <= 1000) { // NaN too
		return o, fmt.Errorf("sim: speed %v is outside 0.001 to 1000; 1 is real time", o.Speed)
	}
	if o.Baud < 0 {
		return o, fmt.Errorf("sim: baud %d must be 0 (not paced) or a rate such as 19200", o.Baud)
	}
	if o.ListenModbus == "" {
		o.ListenModbus = "127.0.0.1:0"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// serve starts the servers of the wires.
func (p *Plant) serve(ctx context.Context, o Options) {
	field := []byte{unitVFD, unitMeter, unitRelays}
	tcp := gateway{plant: p, units: []byte{unitPLC}}
	if !o.Serial {
		tcp.units = append(tcp.units, field...)
	}
	p.running.Go(func() { p.failed(modbusd.ServeTCP(ctx, p.listener, tcp, o.Log)) })
	if !o.Serial {
		return
	}
	line := modbusd.Line{Sleep: nanosleep}
	if o.Baud > 0 {
		line.Char = time.Duration(11 * float64(time.Second) / (float64(o.Baud) * o.Speed))
	}
	p.running.Go(func() { p.failed(modbusd.ServeRTU(ctx, p.terminal, bus{plant: p, units: field}, line)) })
}

func (p *Plant) failed(err error) {
	if err == nil {
		return
	}
	p.log.Error("plant server failed", "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = errors.Join(p.failure, err)
}

// run keeps the plant's clock in step with the wall's times the speed. After a pause of the machine (suspend, debugger) the plant
// goes on from where it was.
func (p *Plant) run(ctx context.Context) {
	const longestLeap = 400 // ticks, 20 s of the plant
	ticker := time.NewTicker(max(time.Millisecond, time.Duration(float64(scanPeriod)/p.speed)))
	defer ticker.Stop()
	start, done := time.Now(), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		due := int64(float64(time.Since(start)) * p.speed / float64(scanPeriod))
		done = max(done, due-longestLeap)
		p.mu.Lock()
		for ; done < due; done++ {
			p.model.tick()
		}
		close(p.moved)
		p.moved = make(chan struct{})
		p.mu.Unlock()
	}
}

// Close stops everything, waits for it and returns what failed meanwhile. It may be called again.
func (p *Plant) Close() error {
	p.cancel()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// ModbusAddr returns host:port of the TCP gateway.
func (p *Plant) ModbusAddr() string { return p.listener.Addr().String() }

// SerialPath returns the path of the serial line's device for clients, "" without Serial. The line is 19200 8E1 by name only: a pseudo-terminal
// carries no parity, and the C library refuses even parity on it (EINVAL), so clients that use it ask for none.
func (p *Plant) SerialPath() string {
	if p.terminal == nil {
		return ""
	}
	return p.terminal.path
}
