package standing

import (
	"cmp"
	"time"
)

// Mark says that the state of an asset is not known, because a call on it ended without an outcome.
type Mark struct {
	Asset      string    `json:"asset"`
	Invocation string    `json:"invocation"` // the latest call that left it so
	Why        string    `json:"why"`
	At         time.Time `json:"at"`
	SettledBy  string    `json:"settled_by,omitempty"` // empty: still unsettled
	SettledAt  time.Time `json:"settled_at,omitzero"`
}

// Unsettle marks an asset. It is marked even if the error says that the disk refused it.
func (s *Standing) Unsettle(asset, invocation, why string) error {
	if err := checkText("asset", asset, MaxTarget); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	return s.marks.note(asset, Mark{Asset: asset, Invocation: invocation, Why: why, At: s.now()})
}

// Settle takes the mark off an asset, in the name of a person or of what has read its state. An asset without a mark stays as it is.
func (s *Standing) Settle(asset, by string) error {
	if err := checkText("by", by, MaxName); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	m, ok := s.Unsettled(asset)
	if !ok {
		return nil
	}
	m.SettledBy, m.SettledAt = by, s.now()
	return s.marks.put(asset, m)
}

// Unsettled gives the mark of an asset that is not settled.
func (s *Standing) Unsettled(asset string) (Mark, bool) {
	m, ok := s.marks.get(asset)
	if !ok || m.SettledBy != "" {
		return Mark{}, false
	}
	return m, true
}

// Marks lists the assets that are not settled, oldest first.
func (s *Standing) Marks() []Mark {
	return s.marks.sorted(func(m Mark) bool { return m.SettledBy == "" }, func(a, b Mark) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Asset, b.Asset))
	})
}
