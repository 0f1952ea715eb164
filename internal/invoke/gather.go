package invoke

import (
	"context"
	"time"

	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/verify"
)

// gatherPause is the time between two looks at a liveness counter before an act: short against any counter's period, long
// against a transaction.
func gatherPause(within time.Duration) time.Duration {
	return min(max(within/20, 10*time.Millisecond), 100*time.Millisecond)
}

// gather reads everything an action needs before it acts, and looks at each device's liveness counter until it has moved since
// the call began or its window has passed: a device that stood still before the call must not be written to on the word of its
// frozen image.
func gather(ctx context.Context, m Machine, a *registry.Action) (map[string]physical.Reading, map[string]bool) {
	refs := a.Refs()
	alive := map[string]bool{}
	first := m.Read(ctx, refs)
	began := time.Now()
	longest, pause := time.Duration(0), time.Second
	for device, l := range watched(a, first) {
		alive[device] = false
		longest, pause = max(longest, l.Within), min(pause, gatherPause(l.Within))
	}
	latest, retries := first, 1 // a read that got no answer is asked once more
	for {
		pending := false
		for device, l := range watched(a, first) {
			if !alive[device] {
				alive[device] = hasMoved(first[l.Ref], latest[l.Ref])
				pending = pending || !alive[device]
			}
			if !first[l.Ref].Good() {
				first[l.Ref] = latest[l.Ref]
			}
		}
		retry := retries > 0 && anyOffline(latest)
		if retry {
			retries--
		}
		if !pending && !retry || time.Since(began) > longest && !retry || !sleep(ctx, pause) {
			return latest, alive
		}
		latest = m.Read(ctx, refs)
	}
}

// watched is the liveness counters of the devices that this action needs: those whose counter was read.
func watched(a *registry.Action, readings map[string]physical.Reading) map[string]verify.Liveness {
	out := map[string]verify.Liveness{}
	for device, l := range a.Scope.Liveness {
		if _, read := readings[l.Ref]; read {
			out[device] = l
		}
	}
	return out
}

func anyOffline(readings map[string]physical.Reading) bool {
	for _, r := range readings {
		if r.Cause == physical.CauseOffline {
			return true
		}
	}
	return false
}

func hasMoved(before, after physical.Reading) bool {
	return before.Good() && after.Good() && !before.Value.Equal(after.Value)
}

// sleep waits, and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
