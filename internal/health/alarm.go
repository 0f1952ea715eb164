package health

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"capd/internal/outcome"
	"capd/internal/store"
)

// MaxAlarms is how many alarms are kept. Cleared ones make room first, oldest first; then the active ones of the lowest severity, oldest
// first, which Dropped counts.
const MaxAlarms = 500

// Where alarms are stored: by number, and the latest number used.
const (
	bucketAlarms  = "alarms"
	bucketNumbers = "alarm_number"
	latestKey     = "latest"
)

// repeatOnDisk is how far the stored count and last time of a repeated alarm may lie behind: flash memory wears.
const repeatOnDisk = time.Minute

// Severity is how much an alarm matters.
type Severity string

// The severities, in rising order.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

func (s Severity) rank() int { return slices.Index([]Severity{Info, Warning, Critical}, s) }

// Alarm is one thing that people must hear of. Raise takes the first part and fills in the second.
type Alarm struct {
	Key        string       `json:"key"` // what it is about; one active alarm per key
	Code       outcome.Code `json:"code,omitempty"`
	Asset      string       `json:"asset,omitempty"`
	Action     string       `json:"action,omitempty"`
	Invocation string       `json:"invocation,omitempty"`
	Text       string       `json:"text"`
	Severity   Severity     `json:"severity"` // empty is Warning

	ID        uint64    `json:"id"` // rises with each alarm, never used twice
	Since     time.Time `json:"since"`
	Last      time.Time `json:"last"`  // when it was raised last
	Count     int64     `json:"count"` // how often it was raised
	ClearedBy string    `json:"cleared_by,omitempty"`
	ClearedAt time.Time `json:"cleared_at,omitzero"`
}

// Active reports that the alarm stands.
func (a Alarm) Active() bool { return a.ClearedBy == "" }

// Alarms is the list of alarms. It is safe for concurrent use.
type Alarms struct {
	db      *store.DB
	now     func() time.Time
	change  sync.Mutex   // one change at a time
	mu      sync.RWMutex // of what follows; never held across the disk
	list    []Alarm      // by ID
	latest  uint64
	dropped uint64
	gone    []uint64             // made room, perhaps still on disk
	written map[uint64]time.Time // Last of active alarms, as it is on disk
}

// OpenAlarms loads the alarms of a store. Times come from now, the wall clock.
func OpenAlarms(db *store.DB, now func() time.Time) (*Alarms, error) {
	a := &Alarms{db: db, now: wall(now), written: map[uint64]time.Time{}}
	err := db.View(func(tx store.Tx) (err error) {
		a.latest, err = store.GetJSON[uint64](tx, bucketNumbers, latestKey)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return store.ForEachJSON(tx, bucketAlarms, "", func(_ string, one Alarm) error {
			a.list = append(a.list, one)
			a.written[one.ID] = one.Last
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("health: load alarms: %w", err)
	}
	return a, nil
}

// numberKey has a fixed width, so that keys are in the order of numbers.
func numberKey(id uint64) string { return fmt.Sprintf("%020d", id) }

// Raise raises an alarm, and gives it as it stands. While one with the same key is active it is only counted: the first one's cause, text and
// time stay. The alarm stands even if the error says that the disk refused it, unless that is an *InputError.
func (a *Alarms) Raise(alarm Alarm) (Alarm, error) {
	if alarm.Severity == "" {
		alarm.Severity = Warning
	}
	if alarm.Severity.rank() < 0 {
		return Alarm{}, &InputError{"severity", strconv.Quote(string(alarm.Severity)) + " is none; the severities are info, warning and critical"}
	}
	alarm.Text = clip(alarm.Text)
	if err := checkTexts("key", alarm.Key); err != nil {
		return Alarm{}, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	now := a.now()
	if i := a.active(alarm.Key); i >= 0 {
		return a.repeat(i, now)
	}
	alarm.ID, alarm.Since, alarm.Last, alarm.Count = a.latest+1, now, now, 1
	alarm.ClearedBy, alarm.ClearedAt = "", time.Time{}
	a.add(alarm)
	return alarm, a.store(alarm)
}

// active is the index of the active alarm with a key, -1 if there is none. Only the holder of change may use it.
func (a *Alarms) active(key string) int {
	return slices.IndexFunc(a.list, func(one Alarm) bool { return one.Key == key && one.Active() })
}

func (a *Alarms) repeat(i int, now time.Time) (Alarm, error) {
	a.mu.Lock()
	one := &a.list[i]
	one.Count++
	one.Last = now
	alarm, behind := *one, now.Sub(a.written[one.ID])
	a.mu.Unlock()
	if behind.Abs() < repeatOnDisk {
		return alarm, nil
	}
	return alarm, a.store(alarm)
}

// add puts a new alarm into the list; another makes room where needed.
func (a *Alarms) add(alarm Alarm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) >= MaxAlarms {
		i := a.leastNeeded()
		if a.list[i].Active() {
			a.dropped++
		}
		a.gone = append(a.gone, a.list[i].ID)
		delete(a.written, a.list[i].ID)
		a.list = slices.Delete(a.list, i, i+1)
	}
	a.list = append(a.list, alarm)
	a.latest = alarm.ID
}

// leastNeeded is the index of the alarm that makes room: see MaxAlarms.
func (a *Alarms) leastNeeded() int {
	least := 0
	for i, one := range a.list {
		if need(one) < need(a.list[least]) {
			least = i
		}
	}
	return least
}

func need(a Alarm) int {
	if !a.Active() {
		return -1
	}
	return a.Severity.rank()
}

// store brings an alarm to disk and removes those that made room.
func (a *Alarms) store(alarm Alarm) error {
	err := a.db.Update(func(tx store.Tx) error {
		for _, id := range a.gone {
			if err := tx.Delete(bucketAlarms, numberKey(id)); err != nil {
				return err
			}
		}
		if err := store.PutJSON(tx, bucketNumbers, latestKey, a.latest); err != nil {
			return err
		}
		return store.PutJSON(tx, bucketAlarms, numberKey(alarm.ID), alarm)
	})
	if err != nil {
		return fmt.Errorf("health: record the alarm %s: %w", alarm.Key, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[alarm.ID], a.gone = alarm.Last, nil
	return nil
}

// Clear ends the active alarm with a key, once that is on disk; cleared is false if there is none.
func (a *Alarms) Clear(key, by string) (cleared bool, err error) {
	if err := checkTexts("key", key, "by", by); err != nil {
		return false, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	i := a.active(key)
	if i < 0 {
		return false, nil
	}
	alarm := a.list[i]
	alarm.ClearedBy, alarm.ClearedAt = by, a.now()
	if err := a.store(alarm); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list[i] = alarm
	delete(a.written, alarm.ID)
	return true, nil
}

// List gives the alarms, the latest raised for the first time first: the active ones, or with all those that were cleared as well. At
// most MaxAlarms.
func (a *Alarms) List(all bool) []Alarm {
	a.mu.RLock()
	defer a.mu.RUnlock()
	list := make([]Alarm, 0, len(a.list))
	for _, one := range slices.Backward(a.list) {
		if all || one.Active() {
			list = append(list, one)
		}
	}
	return list
}

// Dropped is how many active alarms had to make room since the start.
func (a *Alarms) Dropped() uint64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.dropped
}

// Flush brings to disk what repeated alarms have counted since they were stored last. Call it when the daemon stops.
func (a *Alarms) Flush() error {
	a.change.Lock()
	defer a.change.Unlock()
	var errs []error
	for _, one := range a.List(false) {
		if written, ok := a.written[one.ID]; !ok || !written.Equal(one.Last) {
			errs = append(errs, a.store(one))
		}
	}
	return errors.Join(errs...)
}
