package health

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"capd/internal/store"
)

// clock is a wall clock that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)} }

func open(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(path, store.Options{Format: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func registry(t testing.TB) string { return filepath.Join(t.TempDir(), "registry.db") }

func breakers(t testing.TB, db *store.DB, c *clock) *Breakers {
	t.Helper()
	b, err := OpenBreakers(db, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func alarms(t testing.TB, db *store.DB, c *clock) *Alarms {
	t.Helper()
	a, err := OpenAlarms(db, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantInput(t *testing.T, err error, field string) {
	t.Helper()
	var input *InputError
	if !errors.As(err, &input) || input.Field != field {
		t.Errorf("error %v, want an InputError about %s", err, field)
	}
}

// damage puts bytes that are no record where one belongs.
func damage(t *testing.T, db *store.DB, bucket, key string) {
	t.Helper()
	must(t, db.Update(func(tx store.Tx) error { return tx.Put(bucket, key, []byte("[")) }))
}

func TestTextsFromElsewhereBecomeOneBoundedLine(t *testing.T) {
	for _, text := range []string{"a\nb", "bell\a", "bad \xff byte", strings.Repeat("长", 2*MaxText)} {
		got := clip(text)
		if strings.ContainsAny(got, "\n\a") || !utf8.ValidString(got) || len([]rune(got)) > MaxText || got == "" {
			t.Errorf("clip(%.20q) = %.40q", text, got)
		}
	}
	if got := clip("阀门 stuck at 45 %"); got != "阀门 stuck at 45 %" {
		t.Errorf("clip changed a good text to %q", got)
	}
}

func FuzzClip(f *testing.F) {
	f.Add("valve\nstuck")
	f.Fuzz(func(t *testing.T, text string) {
		got := clip(text)
		if again := clip(got); again != got || len([]rune(got)) > MaxText || strings.ContainsAny(got, "\x00\n\r\x1b") {
			t.Errorf("clip(%q) = %q, then %q", text, got, again)
		}
	})
}
