package hal

import (
	"context"
	"slices"
	"time"
)

// work runs transactions until the link closes. It is the only goroutine that touches the Conn, Preview apart.
func (l *Link) work() {
	defer close(l.done)
	for j := l.next(); j != nil; j = l.next() {
		l.run(j)
	}
	l.end = l.conn.Close()
}

// next waits for the first job in the order of service; nil when the link closes and nothing waits.
func (l *Link) next() *job {
	idler, _ := l.conn.(Idler)
	for {
		j, closing := l.pop()
		if j != nil || closing {
			return j
		}
		if idler == nil || idler.IdleAfter() <= 0 {
			<-l.wake
			continue
		}
		timer := time.NewTimer(idler.IdleAfter())
		select {
		case <-l.wake:
			timer.Stop()
		case <-timer.C:
			idler.Idle()
			<-l.wake
		}
	}
}

func (l *Link) pop() (j *job, closing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range classes {
		for len(l.queue[c]) > 0 {
			j, l.queue[c] = l.queue[c][0], l.queue[c][1:]
			if e := l.pausedPoll(j); e != nil { // fell silent while this poll waited
				l.finish(j, e)
				continue
			}
			return j, false
		}
	}
	return nil, l.closing
}

// run hands one job to the Conn. The caller's going away does not stop it, its deadline does.
func (l *Link) run(j *job) {
	ctx, cancel := detach(j.ctx)
	defer cancel()
	l.setAbort(cancel)
	started := time.Now()
	if j.class == write {
		j.ack, j.err = l.conn.Write(ctx, j.device, j.at[0], j.raw)
	} else {
		j.samples = l.conn.Read(ctx, j.device, j.at)
	}
	took := time.Since(started)
	result := summarize(j)
	l.mu.Lock()
	l.abort = nil
	l.count.add(result, took)
	changed := l.pauses.learn(j.device, result, took)
	l.mu.Unlock()
	close(j.done)
	if changed != "" {
		l.o.Log.Info(changed, "device", j.device)
	}
}

func (l *Link) setAbort(cancel context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abort = cancel
	if l.cut {
		cancel()
	}
}

// detach keeps a context's values and deadline but not its cancellation.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if d, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, d)
	}
	return context.WithCancel(free)
}

// summary is what a transaction showed about the device and the wire.
type summary struct {
	kinds    []ErrorKind // each kind that occurred, once
	answered bool        // the device itself said something
	silent   ErrorKind   // why nothing was heard, 0 when it is not the device's fault or it answered
}

func summarize(j *job) summary {
	var s summary
	if j.class == write {
		s.observe(j.err)
		return s
	}
	for i := range j.samples {
		s.observe(j.samples[i].Err)
	}
	return s
}

func (s *summary) observe(err error) {
	if err == nil {
		s.answered = true
		return
	}
	e := AsError(err)
	if e == nil {
		return
	}
	if !slices.Contains(s.kinds, e.Kind) {
		s.kinds = append(s.kinds, e.Kind)
	}
	switch e.Kind {
	case Exception, BusyDevice, Protocol, CRC:
		s.answered = true
	case Unreachable, Gateway:
		s.silent = e.Kind
	case Timeout:
		if e.MaySent {
			s.silent = e.Kind
		}
	}
}
