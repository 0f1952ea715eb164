package standing

import (
	"fmt"
	"time"
)

// Mode says what may leave the box.
type Mode string

// The modes.
const (
	Observe Mode = "observe" // no write can leave the HAL
	Shadow  Mode = "shadow"  // every gate, nothing sent
	Active  Mode = "active"  // capd acts
)

// ParseMode reads a mode's name.
func ParseMode(text string) (Mode, error) {
	switch m := Mode(text); m {
	case Observe, Shadow, Active:
		return m, nil
	}
	return "", &InputError{"mode", fmt.Sprintf("%q is none; the modes are observe, shadow and active", text)}
}

// ModeState is the mode, and who set it when.
type ModeState struct {
	Mode Mode      `json:"mode"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// modeKey is the one key of the mode's table.
const modeKey = "mode"

// byConfiguration is who set the mode of a fresh state folder.
const byConfiguration = "configuration"

func (s *Standing) openMode(fresh Mode) error {
	if state, ok := s.mode.get(modeKey); ok {
		if _, err := ParseMode(string(state.Mode)); err != nil {
			return fmt.Errorf("standing: the stored mode is not one of this capd: %w; use the capd that wrote it", err)
		}
		return nil
	}
	return s.SetMode(fresh, byConfiguration)
}

// Mode is the mode in force.
func (s *Standing) Mode() ModeState {
	state, _ := s.mode.get(modeKey) // there from Open on
	return state
}

// SetMode changes the mode, once it is on disk.
func (s *Standing) SetMode(m Mode, by string) error {
	if _, err := ParseMode(string(m)); err != nil {
		return err
	}
	if err := checkText("by", by, MaxName); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	return s.mode.put(modeKey, ModeState{Mode: m, By: by, At: s.now()})
}
