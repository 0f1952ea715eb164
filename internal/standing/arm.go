package standing

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Limits of a consent.
const (
	MaxArm     = time.Hour
	DefaultArm = 10 * time.Minute
)

// Arm is a technician's consent to one call of one critical action. It is kept in memory only: a restart ends it.
type Arm struct {
	Action   string    `json:"action"`
	Asset    string    `json:"asset"`
	Contract string    `json:"contract"` // the hash of the file that was consented to; another content needs another consent
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"`
}

// NotArmedError says that there is no consent to an action.
type NotArmedError struct{ Action string }

func (e *NotArmedError) Error() string {
	return fmt.Sprintf("%s is not armed; capd arm lists what is", e.Action)
}

// Arm consents to one call of an action within a time of at most MaxArm. A second consent to the same action takes the place of the
// first. What is wrong with a is an *InputError; whether the action exists and is critical is for the caller to check.
func (s *Standing) Arm(a Arm, within time.Duration) (Arm, error) {
	for _, f := range []struct {
		field, text string
		most        int
	}{{"action", a.Action, MaxTarget}, {"asset", a.Asset, MaxTarget}, {"by", a.By, MaxName}, {"reason", a.Reason, MaxReason}} {
		if err := checkText(f.field, f.text, f.most); err != nil {
			return Arm{}, err
		}
	}
	if within <= 0 || within > MaxArm {
		return Arm{}, &InputError{"for", fmt.Sprintf("%v is not possible; give up to %v", within, MaxArm)}
	}
	a.At = s.now()
	a.Until = a.At.Add(within)
	s.arms.Lock()
	defer s.arms.Unlock()
	s.armed[a.Action] = a
	return a, nil
}

// Armed gives the consent to an action of a contract's content, if one is in force.
func (s *Standing) Armed(action, contract string) (Arm, bool) {
	s.arms.Lock()
	defer s.arms.Unlock()
	return s.inForce(action, contract)
}

// TakeArm uses a consent up: of two calls that ask at once, one gets it.
func (s *Standing) TakeArm(action, contract string) (Arm, bool) {
	s.arms.Lock()
	defer s.arms.Unlock()
	a, ok := s.inForce(action, contract)
	if ok {
		delete(s.armed, action)
	}
	return a, ok
}

// inForce looks a consent up; the caller holds the lock. A clock that was set back past the consent ends it too.
func (s *Standing) inForce(action, contract string) (Arm, bool) {
	a, ok := s.armed[action]
	if now := s.now(); !ok || a.Contract != contract || !now.Before(a.Until) || now.Before(a.At) {
		return Arm{}, false
	}
	return a, true
}

// Disarm takes a consent back and gives what it was, *NotArmedError if there is none.
func (s *Standing) Disarm(action string) (Arm, error) {
	s.arms.Lock()
	defer s.arms.Unlock()
	a, ok := s.armed[action]
	if _, inForce := s.inForce(action, a.Contract); !ok || !inForce {
		return Arm{}, &NotArmedError{action}
	}
	delete(s.armed, action)
	return a, nil
}

// Arms lists the consents in force, the one that ends first first, and forgets those that have ended.
func (s *Standing) Arms() []Arm {
	s.arms.Lock()
	defer s.arms.Unlock()
	var list []Arm
	for action, a := range s.armed {
		if _, ok := s.inForce(action, a.Contract); ok {
			list = append(list, a)
		} else {
			delete(s.armed, action)
		}
	}
	slices.SortFunc(list, func(a, b Arm) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Action, b.Action)) })
	return list
}
