package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/store"
)

// clock is a wall clock that tests set; it may be read from many goroutines while it stands.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

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

func policy() Policy {
	return NewPolicy(map[string][]string{"operator": {"valve:write", "*:read"}, "viewer": {"*:read"}})
}

func tokens(t testing.TB, db *store.DB, c *clock) *Tokens {
	t.Helper()
	ts, err := NewTokens(db, policy(), c.now)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func spec(name string) TokenSpec {
	return TokenSpec{Name: name, Roles: []string{"operator"}, Scopes: []string{"site:ps07"}, Profile: "shift", Tenant: "water", TTL: time.Hour}
}

func create(t testing.TB, ts *Tokens, s TokenSpec) (string, Token) {
	t.Helper()
	secret, token, err := ts.Create(s)
	if err != nil {
		t.Fatal(err)
	}
	return secret, token
}

// wantToken checks why a secret is refused, and that the error does not give the secret away.
func wantToken(t *testing.T, ts *Tokens, secret string, want error) {
	t.Helper()
	s, err := ts.Authenticate(secret)
	if !errors.Is(err, want) || s.ID != "" {
		t.Errorf("authenticated as %+v, error %v, want %v", s, err, want)
	}
	if err != nil && len(secret) > 12 && strings.Contains(err.Error(), secret[5:]) {
		t.Errorf("the error holds the secret: %v", err)
	}
}

func TestATokenOpensWhatItWasMadeFor(t *testing.T) {
	c := newClock()
	ts := tokens(t, open(t, registry(t)), c)
	secret, token := create(t, ts, spec("agent"))
	s, err := ts.Authenticate(secret)
	if err != nil {
		t.Fatal(err)
	}
	if s.ID != "token:"+token.ID || s.Name != "agent" || s.Tenant != "water" || s.Profile != "shift" || s.Local || s.Technician {
		t.Errorf("subject %+v", s)
	}
	if ok, _ := policy().Allows(s, []string{"valve:write"}); !ok || !InScope(s, place) {
		t.Errorf("roles %v, scopes %v", s.Roles, s.Scopes)
	}
	if !token.Expires.Equal(c.at.Add(time.Hour)) || !token.Created.Equal(c.at) {
		t.Errorf("token %+v", token)
	}
}

func TestTokensSurviveARestartAndOnlyTheirDigestIsStored(t *testing.T) {
	path, c := registry(t), newClock()
	db := open(t, path)
	ts := tokens(t, db, c)
	secret, token := create(t, ts, spec("agent"))
	gone, _ := create(t, ts, spec("gone"))
	if _, err := ts.Revoke("gone"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(secret[len(secretPrefix):])) {
		t.Error("the secret is in the state folder")
	}
	ts = tokens(t, open(t, path), c)
	if s, err := ts.Authenticate(secret); err != nil || s.ID != "token:"+token.ID {
		t.Errorf("after a restart: %+v, %v", s, err)
	}
	wantToken(t, ts, gone, ErrRevoked)
	c.at = c.at.Add(time.Hour)
	wantToken(t, ts, secret, ErrExpired)
}

func TestWhyASecretIsRefused(t *testing.T) {
	c := newClock()
	ts := tokens(t, open(t, registry(t)), c)
	secret, token := create(t, ts, spec("agent"))
	other, _ := create(t, tokens(t, open(t, registry(t)), c), spec("elsewhere"))
	mistyped := []byte(secret)
	if mistyped[20]++; mistyped[20] > 'z' || mistyped[20] < 'a' {
		mistyped[20] = 'a'
	}
	wantToken(t, ts, other, ErrUnknown)
	wantToken(t, ts, string(mistyped), ErrMalformed)
	for _, s := range []string{"", "capd_", secret[:len(secret)-1], secret + "a", strings.ToUpper(secret), "Bearer " + secret, " " + secret[1:],
		strings.Replace(secret, "capd_", "card_", 1), secret[:30] + "\n" + secret[31:], strings.Repeat("x", 1<<20)} {
		wantToken(t, ts, s, ErrMalformed)
	}

	c.at = token.Expires.Add(-time.Nanosecond)
	if _, err := ts.Authenticate(secret); err != nil {
		t.Errorf("refused before it expires: %v", err)
	}
	c.at = token.Expires
	wantToken(t, ts, secret, ErrExpired)
	_, err := ts.Authenticate(secret)
	var why *TokenError
	if !errors.As(err, &why) || why.Name != "agent" || !why.At.Equal(token.Expires) || !strings.Contains(err.Error(), "2026-07-28T13:00:00Z") {
		t.Errorf("the error does not say which and when: %v", err)
	}
}

func TestEverySecretThatDiffersInOneCharacterIsCalledMistyped(t *testing.T) {
	secret := newSecret()
	for i := range secret {
		for _, r := range []byte("a7_") {
			if b := []byte(secret); b[i] != r {
				if b[i] = r; wellFormed(string(b)) {
					t.Errorf("character %d as %c was not noticed", i, r)
				}
			}
		}
	}
	if !wellFormed(secret) {
		t.Errorf("%s is not well formed", secret)
	}
}

func TestARevokedTokenIsRefusedAtOnceAndForGood(t *testing.T) {
	c := newClock()
	ts := tokens(t, open(t, registry(t)), c)
	secret, token := create(t, ts, spec("agent"))
	revoked, err := ts.Revoke(token.ID)
	if err != nil || !revoked.Revoked.Equal(c.at) {
		t.Fatalf("revoked %+v, error %v", revoked, err)
	}
	wantToken(t, ts, secret, ErrRevoked)
	c.at = c.at.Add(time.Minute)
	if again, err := ts.Revoke(token.ID); err != nil || !again.Revoked.Equal(revoked.Revoked) {
		t.Errorf("revoked again: %+v, error %v", again, err)
	}
	if list := ts.List(); len(list) != 1 || list[0].Revoked.IsZero() {
		t.Errorf("list %+v", list)
	}
	// The name is free again, and means the newer token.
	fresh, second := create(t, ts, spec("agent"))
	if got, err := ts.Revoke("agent"); err != nil || got.ID != second.ID {
		t.Errorf("revoked %+v, error %v", got, err)
	}
	wantToken(t, ts, fresh, ErrRevoked)
}

func TestRevokingWhatNobodyHasSuggestsATokenThatIsThere(t *testing.T) {
	ts := tokens(t, open(t, registry(t)), newClock())
	create(t, ts, spec("night-shift"))
	_, err := ts.Revoke("nightshift")
	var none *NoTokenError
	if !errors.As(err, &none) || none.Near != "night-shift" || !strings.Contains(err.Error(), "did you mean night-shift?") {
		t.Errorf("error %v", err)
	}
	if _, err = ts.Revoke(""); !errors.As(err, &none) {
		t.Errorf("error %v", err)
	}
}

func TestASpecThatIsWrongNamesTheField(t *testing.T) {
	ts := tokens(t, open(t, registry(t)), newClock())
	_, taken := create(t, ts, spec("taken"))
	for _, c := range []struct {
		field, want string
		change      func(*TokenSpec)
	}{
		{"name", "is empty", func(s *TokenSpec) { s.Name = "" }},
		{"name", "cannot be shown", func(s *TokenSpec) { s.Name = "a\nb" }},
		{"name", "cannot be shown", func(s *TokenSpec) { s.Name = "a\xff" }},
		{"name", "ends with a space", func(s *TokenSpec) { s.Name = "a " }},
		{"name", "more than 64", func(s *TokenSpec) { s.Name = strings.Repeat("长", 65) }},
		{"name", "belongs to token " + taken.ID, func(s *TokenSpec) { s.Name = "taken" }},
		{"name", "belongs to token", func(s *TokenSpec) { s.Name = taken.ID }},
		{"roles", "did you mean operator?", func(s *TokenSpec) { s.Roles = []string{"viewer", "operater"} }},
		{"roles", "the roles are operator, viewer", func(s *TokenSpec) { s.Roles = []string{"x"} }},
		{"roles", "a token needs 1 to 32 roles", func(s *TokenSpec) { s.Roles = nil }},
		{"scopes", `"ps07" is not a scope`, func(s *TokenSpec) { s.Scopes = []string{"ps07"} }},
		{"scopes", "is not a scope", func(s *TokenSpec) { s.Scopes = []string{"site:plant/ps07"} }},
		{"scopes", "is not a scope", func(s *TokenSpec) { s.Scopes = []string{"site:*"} }},
		{"scopes", "is not a scope", func(s *TokenSpec) { s.Scopes = []string{"site:a:b"} }},
		{"scopes", "65 scopes", func(s *TokenSpec) { s.Scopes = make([]string, 65) }},
		{"profile", "cannot be shown", func(s *TokenSpec) { s.Profile = "\x1b[0m" }},
		{"tenant", "begins or ends", func(s *TokenSpec) { s.Tenant = " a" }},
		{"ttl", "say how long", func(s *TokenSpec) { s.TTL = 0 }},
		{"ttl", "is not from", func(s *TokenSpec) { s.TTL = -time.Hour }},
		{"ttl", "is not from", func(s *TokenSpec) { s.TTL = MaxTTL + 1 }},
		{"ttl", "say one", func(s *TokenSpec) { s.NoExpiry = true }},
	} {
		s := spec("new")
		c.change(&s)
		_, _, err := ts.Create(s)
		var wrong *SpecError
		if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one about %s with %q", s, err, c.field, c.want)
		}
	}
	if len(ts.List()) != 1 {
		t.Errorf("a wrong spec made a token: %+v", ts.List())
	}
	none, err := NewTokens(open(t, registry(t)), NewPolicy(nil), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := none.Create(spec("a")); err == nil || !strings.Contains(err.Error(), "declare one under roles: in capd.yaml") {
		t.Errorf("without roles: %v", err)
	}
}

func TestATokenMayNeverExpireIfThatIsSaid(t *testing.T) {
	c := newClock()
	ts := tokens(t, open(t, registry(t)), c)
	s := spec("panel")
	s.TTL, s.NoExpiry = 0, true
	secret, token := create(t, ts, s)
	c.at = c.at.AddDate(50, 0, 0)
	if _, err := ts.Authenticate(secret); err != nil || !token.Expires.IsZero() {
		t.Errorf("error %v, token %+v", err, token)
	}
}

func TestARoleThatHasGoneGrantsNothing(t *testing.T) {
	path, c := registry(t), newClock()
	db := open(t, path)
	secret, _ := create(t, tokens(t, db, c), spec("agent"))
	later := NewPolicy(map[string][]string{"viewer": {"*:read"}})
	ts, err := NewTokens(db, later, c.now)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ts.Authenticate(secret)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := later.Allows(s, []string{"valve:read"}); ok {
		t.Error("it still grants")
	}
}

func TestNothingIsGrantedOrTakenWithoutTheDisk(t *testing.T) {
	db := open(t, registry(t))
	ts := tokens(t, db, newClock())
	secret, token := create(t, ts, spec("agent"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if s, _, err := ts.Create(spec("other")); !errors.Is(err, store.ErrClosed) || s != "" {
		t.Errorf("created without the disk: %v", err)
	}
	if _, err := ts.Revoke(token.ID); !errors.Is(err, store.ErrClosed) || !strings.Contains(err.Error(), "still valid") {
		t.Errorf("revoked without the disk: %v", err)
	}
	if _, err := ts.Authenticate(secret); err != nil {
		t.Errorf("a token that is still valid was refused: %v", err)
	}
	if len(ts.List()) != 1 {
		t.Errorf("tokens %+v", ts.List())
	}
}

func TestEndedTokensMakeRoomAndTokensInUseDoNot(t *testing.T) {
	c, db := newClock(), open(t, registry(t))
	ts := tokens(t, db, c)
	ended, _ := create(t, ts, spec("ended"))
	if _, err := ts.Revoke("ended"); err != nil {
		t.Fatal(err)
	}
	// Fill the memory; going through the disk a thousand times would only be slow.
	full := ts.index.Load().clone()
	for i := range MaxTokens - 1 {
		full.add(Token{ID: fmt.Sprint(i), Name: fmt.Sprint("name", i), Created: c.at}, digest{byte(i), byte(i >> 8), 1})
	}
	ts.index.Store(full)
	secret, _ := create(t, ts, spec("fits"))
	wantToken(t, ts, ended, ErrUnknown)
	if _, err := ts.Authenticate(secret); err != nil {
		t.Error(err)
	}
	if n := len(tokens(t, db, c).List()); n != 1 {
		t.Errorf("%d on disk, want the new one alone", n)
	}
	_, _, err := ts.Create(spec("too many"))
	var wrong *SpecError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "1000 tokens are in use") {
		t.Errorf("error %v", err)
	}
}

func TestADamagedRecordIsAnErrorThatNamesTheToken(t *testing.T) {
	for _, value := range []string{`{"id":"abc","sha256":"AAAA"}`, `null`, `[`} {
		db := open(t, registry(t))
		if err := db.Update(func(tx store.Tx) error { return tx.Put(bucket, "abc", []byte(value)) }); err != nil {
			t.Fatal(err)
		}
		if _, err := NewTokens(db, policy(), time.Now); err == nil || !strings.Contains(err.Error(), "abc") {
			t.Errorf("%s: error %v", value, err)
		}
	}
}

func TestTokensMayBeUsedWhileTheyChange(t *testing.T) {
	ts := tokens(t, open(t, registry(t)), newClock())
	secret, _ := create(t, ts, spec("agent"))
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			_, token, err := ts.Create(spec(fmt.Sprint("agent", i)))
			if err == nil {
				_, err = ts.Revoke(token.Name)
			}
			if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for range 100 {
				if _, err := ts.Authenticate(secret); err != nil {
					t.Error(err)
				}
				ts.List()
			}
		})
	}
	wg.Wait()
	if n := len(ts.List()); n != 4 {
		t.Errorf("%d tokens, want 4", n)
	}
}

func TestAppendingToASubjectsListsDoesNotChangeTheToken(t *testing.T) {
	ts := tokens(t, open(t, registry(t)), newClock())
	s := spec("agent")
	s.Scopes = append(make([]string, 0, 8), "site:ps07")
	secret, _ := create(t, ts, s)
	a, err := ts.Authenticate(secret)
	b, err2 := ts.Authenticate(secret)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	_, both := append(a.Scopes, "site:x"), append(b.Scopes, "site:y")
	if len(a.Scopes) != 1 || both[1] != "site:y" {
		t.Errorf("scopes %v and %v", a.Scopes, both)
	}
}

func TestAListedTokenShowsNoSecret(t *testing.T) {
	ts := tokens(t, open(t, registry(t)), newClock())
	secret, token := create(t, ts, spec("agent"))
	text, err := json.Marshal(ts.List())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte("sha256")) || !bytes.Contains(text, []byte(token.ID)) ||
		bytes.Contains(text, []byte("revoked")) {
		t.Errorf("%s", text)
	}
}

func FuzzWellFormed(f *testing.F) {
	f.Add("capd_")
	f.Add(newSecret())
	f.Fuzz(func(t *testing.T, text string) {
		if wellFormed(text) && (len(text) != secretLength || strings.ToLower(text) != text) {
			t.Errorf("%q passes", text)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	ts := tokens(b, open(b, registry(b)), newClock())
	secret, _ := create(b, ts, spec("agent"))
	unknown := newSecret()
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ts.Authenticate(secret); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("known, parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := ts.Authenticate(secret); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("unknown", func(b *testing.B) {
		for b.Loop() {
			if _, err := ts.Authenticate(unknown); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}
