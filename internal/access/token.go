package access

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"capd/internal/store"
)

// bucket holds a record per token, by id.
const bucket = "tokens"

// MaxTokens is how many tokens may be kept. The oldest that are revoked or expired make room first.
const MaxTokens = 1000

// Token is what is known of an issued token. It holds no secret.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Tenant  string    `json:"tenant,omitempty"`
	Roles   []string  `json:"roles"`
	Scopes  []string  `json:"scopes,omitempty"`
	Profile string    `json:"profile,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Revoked time.Time `json:"revoked,omitzero"` // zero: not revoked
}

// ended reports that the token opens nothing any more.
func (t Token) ended(now time.Time) bool { return !t.Revoked.IsZero() || t.expired(now) }

func (t Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

func (t Token) subject() Subject {
	return Subject{ID: "token:" + t.ID, Name: t.Name, Tenant: t.Tenant, Roles: t.Roles, Scopes: t.Scopes, Profile: t.Profile}
}

// record is a token as it is stored.
type record struct {
	Token
	Digest []byte `json:"sha256"`
}

// index is all tokens at one time; it never changes.
type index struct {
	byDigest map[digest]Token
	byID     map[string]digest
}

// Tokens issues and recognises tokens. It is safe for concurrent use; Authenticate never waits for the disk.
type Tokens struct {
	db     *store.DB
	policy Policy
	now    func() time.Time
	change sync.Mutex // one change at a time
	index  atomic.Pointer[index]
}

// NewTokens loads the tokens of a store. Roles are checked against the policy when a token is made; one whose role has gone since
// is still recognised and the role grants nothing. Expiry follows now, the wall clock.
func NewTokens(db *store.DB, policy Policy, now func() time.Time) (*Tokens, error) {
	x := &index{byDigest: map[digest]Token{}, byID: map[string]digest{}}
	err := db.View(func(tx store.Tx) error {
		return store.ForEachJSON(tx, bucket, "", func(id string, r record) error {
			if len(r.Digest) != len(digest{}) {
				return fmt.Errorf("token %s has a digest of %d bytes instead of %d; restore the state folder from a backup", id, len(r.Digest), len(digest{}))
			}
			x.add(r.Token, digest(r.Digest))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("access: load tokens: %w", err)
	}
	t := &Tokens{db: db, policy: policy, now: now}
	t.index.Store(x)
	return t, nil
}

// add clips the lists, which subjects share: appending to one copies it.
func (x *index) add(t Token, d digest) {
	t.Roles, t.Scopes = slices.Clip(t.Roles), slices.Clip(t.Scopes)
	x.byDigest[d], x.byID[t.ID] = t, d
}

func (x *index) clone() *index {
	return &index{byDigest: maps.Clone(x.byDigest), byID: maps.Clone(x.byID)}
}

func (x *index) remove(id string) {
	delete(x.byDigest, x.byID[id])
	delete(x.byID, id)
}

// list is the tokens, oldest first.
func (x *index) list() []Token {
	all := slices.Collect(maps.Values(x.byDigest))
	slices.SortFunc(all, func(a, b Token) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all
}

// List gives every token, oldest first, with those that are revoked or expired and still on record.
func (t *Tokens) List() []Token { return t.index.Load().list() }

// Create issues a token and gives its secret, which nothing can show again. What is wrong with the spec is a *SpecError.
func (t *Tokens) Create(spec TokenSpec) (secret string, token Token, err error) {
	if err := t.policy.check(spec); err != nil {
		return "", Token{}, err
	}
	t.change.Lock()
	defer t.change.Unlock()
	now, next := t.now(), t.index.Load().clone()
	dropped, err := next.makeRoom(spec.Name, now)
	if err != nil {
		return "", Token{}, err
	}
	token = spec.token(next.freeID(), now)
	secret = newSecret()
	d := digestOf(secret)
	next.add(token, d)
	err = t.db.Update(func(tx store.Tx) error {
		if dropped != "" {
			if err := tx.Delete(bucket, dropped); err != nil {
				return err
			}
		}
		return store.PutJSON(tx, bucket, token.ID, record{token, d[:]})
	})
	if err != nil {
		return "", Token{}, fmt.Errorf("access: create token %s: %w", spec.Name, err)
	}
	t.index.Store(next)
	return secret, token, nil
}

// makeRoom refuses a name that is taken and forgets the oldest ended token, if there must be room for one more.
func (x *index) makeRoom(name string, now time.Time) (dropped string, err error) {
	all := x.list()
	for _, old := range all {
		if old.Name == name && !old.ended(now) || old.ID == name {
			return "", &SpecError{"name", fmt.Sprintf("%q belongs to token %s already; choose another name, or revoke that token first", name, old.ID)}
		}
	}
	if len(all) < MaxTokens {
		return "", nil
	}
	i := slices.IndexFunc(all, func(old Token) bool { return old.ended(now) })
	if i < 0 {
		return "", &SpecError{"name", fmt.Sprintf("%d tokens are in use, which is the limit; revoke one that is no longer needed", MaxTokens)}
	}
	x.remove(all[i].ID)
	return all[i].ID, nil
}

// freeID is an id that is neither the id nor the name of another token.
func (x *index) freeID() string {
	for {
		id := newID()
		if !slices.ContainsFunc(x.list(), func(t Token) bool { return t.ID == id || t.Name == id }) {
			return id
		}
	}
}

// Revoke ends a token, named by its id or by its name, at once and for good. One that nobody has is a *NoTokenError; one that has
// been revoked already stays as it is.
func (t *Tokens) Revoke(idOrName string) (Token, error) {
	t.change.Lock()
	defer t.change.Unlock()
	now, next := t.now(), t.index.Load().clone()
	token, ok := find(next.list(), idOrName, now)
	if !ok {
		return Token{}, noToken(idOrName, next.list())
	}
	if !token.Revoked.IsZero() {
		return token, nil
	}
	token.Revoked = now.Round(0).UTC()
	d := next.byID[token.ID]
	next.add(token, d)
	err := t.db.Update(func(tx store.Tx) error { return store.PutJSON(tx, bucket, token.ID, record{token, d[:]}) })
	if err != nil {
		return Token{}, fmt.Errorf("access: revoke token %s, which is still valid: %w", token.Name, err)
	}
	t.index.Store(next)
	return token, nil
}

// find prefers an id over a name, a token in use over an ended one, and a newer one over an older.
func find(oldestFirst []Token, idOrName string, now time.Time) (found Token, ok bool) {
	for _, t := range oldestFirst {
		if t.ID == idOrName {
			return t, true
		}
		if t.Name == idOrName && (!ok || found.ended(now) || !t.ended(now)) {
			found, ok = t, true
		}
	}
	return found, ok
}

// Reasons why a secret opens nothing; Authenticate gives a *TokenError that wraps one of them.
var (
	ErrMalformed = errors.New("this is no token of capd, or a part of it is missing or mistyped; copy it again in full, beginning with " + secretPrefix)
	ErrUnknown   = errors.New("no token with this secret is known here; make one with: capd token create")
	ErrExpired   = errors.New("the token has expired; make a new one with: capd token create")
	ErrRevoked   = errors.New("the token was revoked; ask for a new one")
)

// TokenError says why a secret opens nothing.
type TokenError struct {
	Err  error     // ErrMalformed, ErrUnknown, ErrExpired or ErrRevoked
	Name string    // of the token, when it is known
	At   time.Time // when it expired or was revoked
}

func (e *TokenError) Error() string {
	if e.Name == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("token %s (%s): %v", e.Name, e.At.UTC().Format(time.RFC3339), e.Err)
}

func (e *TokenError) Unwrap() error { return e.Err }

// Authenticate gives the subject of a secret, or a *TokenError. Only the digest of the secret takes part in the lookup, so that its time
// tells nothing about a secret that is nearly right.
func (t *Tokens) Authenticate(secret string) (Subject, error) {
	if len(secret) != secretLength {
		return Subject{}, &TokenError{Err: ErrMalformed}
	}
	token, ok := t.index.Load().byDigest[digestOf(secret)]
	switch {
	case !ok && wellFormed(secret):
		return Subject{}, &TokenError{Err: ErrUnknown}
	case !ok:
		return Subject{}, &TokenError{Err: ErrMalformed}
	case !token.Revoked.IsZero():
		return Subject{}, &TokenError{Err: ErrRevoked, Name: token.Name, At: token.Revoked}
	case token.expired(t.now()):
		return Subject{}, &TokenError{Err: ErrExpired, Name: token.Name, At: token.Expires}
	}
	return token.subject(), nil
}
