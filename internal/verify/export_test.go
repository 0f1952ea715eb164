package verify

// Kept is how many rounds a trial holds in memory.
func (t *Trial) Kept() int { return len(t.looks) }
