package hal

import (
	"context"
	"slices"
	"time"
)

// work runs transactions until the link closes.
func (l *Link) work() {
	defer close(l.done)
	for j := l.next(); j != nil; {
		if j = l.run(j); j == nil {
			j = l.next()
		}
	}
	l.end = l.conn.Close()
}

// next waits for the first job in the order of service and takes the wire for it; nil when the link closes and nothing waits.
func (l *Link) next() *job {
	idler, _ := l.conn.(Idler)
	look := time.Duration(0) // when to look whether the link is idle; 0 for never
	if idler != nil {
		look = idler.IdleAfter()
	}
	for {
		j, ended := l.take()
		if j != nil || ended {
			return j
		}
		if look <= 0 {
			<-l.wake
			continue
		}
		timer := time.NewTimer(look)
		select {
		case <-l.wake:
			timer.Stop()
		case <-timer.C:
			if look = l.rest(idler.IdleAfter()); look <= 0 {
				idler.Idle()
				l.free()
			}
		}
	}
}

// rest takes the wire after a quiet period, so that the Conn can be told. Before its end it returns what is left of it.
func (l *Link) rest(after time.Duration) (left time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || l.waiting() > 0 {
		return after
	}
	if left = after - time.Since(l.last); left <= 0 {
		l.busy, l.warm = true, false
	}
	return left
}

// free gives the wire back without a transaction.
func (l *Link) free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
}

// take pops a job unless the wire is in use. ended means that none will come any more.
func (l *Link) take() (j *job, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return nil, false
	}
	j = l.pop()
	return j, j == nil && l.closing
}

// pop takes the first job out of the queue, and the wire for it. The caller holds mu.
func (l *Link) pop() *job {
	l.busy = false
	for c := range classes {
		for len(l.queue[c]) > 0 {
			j := l.queue[c][0]
			l.queue[c] = l.queue[c][1:]
			if e := l.pausedPoll(j); e != nil { // fell silent while this poll waited
				l.finish(j, e)
				continue
			}
			l.busy = true
			return j
		}
	}
	return nil
}

// run hands one job to the Conn and takes the next, nil for none. The caller's going away does not stop it, its deadline does.
func (l *Link) run(j *job) (next *job) {
	ctx, cancel := detach(j.ctx)
	defer cancel()
	l.setAbort(cancel)
	started := time.Now()
	var result summary
	if j.class == write {
		j.ack, j.err = l.conn.Write(ctx, j.device, j.at[0], j.raw)
		result.observe(j.err)
	} else {
		j.samples = l.conn.Read(ctx, j.device, j.at)
		result = summarize(j.samples)
	}
	l.mu.Lock()
	changed := l.book(j.device, result, started)
	next = l.pop() // before this job's caller can come again: it must not be served for ever before those that wait
	l.mu.Unlock()
	close(j.done)
	l.tell(changed, j.device)
	return next
}

// book notes how a transaction ended. It returns what is worth a log line, or "". The caller holds mu.
func (l *Link) book(device string, s summary, started time.Time) string {
	l.abort, l.last = nil, time.Now()
	l.warm = s.answered && s.silent == 0
	took := l.last.Sub(started)
	l.count.add(s, took, l.last)
	return l.pauses.learn(device, s, took)
}

func (l *Link) tell(changed, device string) {
	if changed != "" {
		l.o.Log.Info(changed, "device", device)
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

func summarize(samples []Sample) (s summary) {
	for i := range samples {
		s.observe(samples[i].Err)
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
