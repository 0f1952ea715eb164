package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func openTest(t testing.TB, path string, o Options) *DB {
	t.Helper()
	if o.Format == 0 {
		o.Format = 1
	}
	db, err := Open(path, o)
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

func newTest(t testing.TB) *DB {
	return openTest(t, filepath.Join(t.TempDir(), "registry.db"), Options{})
}

func put(t testing.TB, db *DB, bucket, key, value string) {
	t.Helper()
	if err := db.Update(func(tx Tx) error { return tx.Put(bucket, key, []byte(value)) }); err != nil {
		t.Fatal(err)
	}
}

func get(db *DB, bucket, key string) (value string, err error) {
	err = db.View(func(tx Tx) error {
		b, err := tx.Get(bucket, key)
		value = string(b)
		return err
	})
	return value, err
}

func dump(db *DB, bucket, prefix string) (list []string, err error) {
	err = db.View(func(tx Tx) error {
		return tx.ForEach(bucket, prefix, func(k string, v []byte) error {
			list = append(list, k+"="+string(v))
			return nil
		})
	})
	return list, err
}

// sound fails the test if the file behind db breaks a rule of its structure.
func sound(t testing.TB, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkFile(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatalf("after the test %s is damaged: %v", path, err)
	}
}

func TestCommittedValuesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db := openTest(t, path, Options{})
	put(t, db, "contracts", "valve", "v1")
	put(t, db, "contracts", "pump", "")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, path, Options{})
	if v, err := get(again, "contracts", "valve"); v != "v1" || err != nil {
		t.Fatalf("valve = %q, %v", v, err)
	}
	if v, err := get(again, "contracts", "pump"); v != "" || err != nil {
		t.Fatalf("an empty value came back as %q, %v", v, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("file mode %v, %v; others must not read it", info.Mode(), err)
	}
	sound(t, path)
}

func TestAnUpdateThatChangesNothingWritesNothing(t *testing.T) {
	db := newTest(t)
	put(t, db, "a", "k", "v")
	before, err := os.ReadFile(db.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx Tx) error { _, err := tx.Get("a", "k"); return err }); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(db.Path()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed, %v", err)
	}
	put(t, db, "a", "k", "w")
	if v, err := get(db, "a", "k"); v != "w" || err != nil {
		t.Errorf("the next update: %q, %v", v, err)
	}
}

func TestMissingKeyAndMissingBucketAreNotFound(t *testing.T) {
	db := newTest(t)
	put(t, db, "a", "k", "v")
	for _, place := range [][2]string{{"a", "other"}, {"nowhere", "k"}} {
		if _, err := get(db, place[0], place[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v: %v, want ErrNotFound", place, err)
		}
	}
	if list, err := dump(db, "nowhere", ""); list != nil || err != nil {
		t.Errorf("a missing bucket lists %v, %v", list, err)
	}
	if err := db.Update(func(tx Tx) error {
		return errors.Join(tx.Delete("a", "other"), tx.Delete("nowhere", "k"))
	}); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
}

func TestForEachGoesByPrefixInOrderAndAllowsChanges(t *testing.T) {
	db := newTest(t)
	for _, k := range []string{"b/2", "a", "b/10", "b/1", "c", "b"} {
		put(t, db, "x", k, "v")
	}
	if list, err := dump(db, "x", "b/"); err != nil || strings.Join(list, " ") != "b/1=v b/10=v b/2=v" {
		t.Fatalf("%v, %v", list, err)
	}
	err := db.Update(func(tx Tx) error {
		return tx.ForEach("x", "b/", func(k string, _ []byte) error { return tx.Delete("x", k) })
	})
	if list, lerr := dump(db, "x", ""); err != nil || lerr != nil || strings.Join(list, " ") != "a=v b=v c=v" {
		t.Fatalf("after deleting b/ while walking: %v, %v, %v", list, err, lerr)
	}
	stop := errors.New("stop")
	err = db.View(func(tx Tx) error { return tx.ForEach("x", "", func(string, []byte) error { return stop }) })
	if !errors.Is(err, stop) {
		t.Fatalf("the callback's error came back as %v", err)
	}
}

func TestFailedUpdateLeavesTheOldState(t *testing.T) {
	db := newTest(t)
	put(t, db, "x", "k", "old")
	refused := errors.New("refused")
	err := db.Update(func(tx Tx) error {
		return errors.Join(tx.Put("x", "k", []byte("new")), tx.Put("y", "k", []byte("new")), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = db.Update(func(tx Tx) error {
			if err := tx.Put("x", "k", []byte("new")); err != nil {
				t.Error(err)
			}
			panic("a bug of the caller")
		})
	}()
	if v, err := get(db, "x", "k"); v != "old" || err != nil {
		t.Fatalf("%q, %v", v, err)
	}
	put(t, db, "x", "k", "newer")
}

func TestMisuseIsAnErrorAndHarmsNothing(t *testing.T) {
	db := newTest(t)
	put(t, db, "x", "k", "v")
	var leaked Tx
	err := db.View(func(tx Tx) error {
		leaked = tx
		return tx.Put("x", "k", nil)
	})
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("put inside View: %v", err)
	}
	if _, err := leaked.Get("x", "k"); !errors.Is(err, ErrTxDone) {
		t.Errorf("get after View: %v", err)
	}
	if err := leaked.Put("x", "k", nil); !errors.Is(err, ErrTxDone) {
		t.Errorf("put after View: %v", err)
	}
	for _, bad := range [][2]string{{"x", ""}, {"", "k"}, {"meta", "format"}, {"x", strings.Repeat("k", 40000)}} {
		err := db.Update(func(tx Tx) error { return tx.Put(bad[0], bad[1], []byte("v")) })
		if err == nil {
			t.Errorf("put at %.20q was taken", bad)
		}
	}
	if err := db.Update(func(tx Tx) error { return tx.Delete("meta", "format") }); err == nil {
		t.Error("the format could be deleted")
	}
	put(t, db, "x", "k", "still works")
}

func TestJSONValues(t *testing.T) {
	type lockout struct{ By, Reason string }
	db := newTest(t)
	err := db.Update(func(tx Tx) error {
		return errors.Join(PutJSON(tx, "lockouts", "P-01", lockout{"anna", "seal"}),
			PutJSON(tx, "lockouts", "P-02", lockout{"ben", "oil"}), tx.Put("lockouts", "X", []byte("{")))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx Tx) error {
		one, err := GetJSON[lockout](tx, "lockouts", "P-01")
		if err != nil || one.By != "anna" {
			t.Errorf("%+v, %v", one, err)
		}
		if _, err := GetJSON[lockout](tx, "lockouts", "P-09"); !errors.Is(err, ErrNotFound) {
			t.Errorf("missing: %v", err)
		}
		if _, err := GetJSON[lockout](tx, "lockouts", "X"); err == nil || !strings.Contains(err.Error(), "lockouts/X") {
			t.Errorf("a value that is not JSON: %v", err)
		}
		var who []string
		err = ForEachJSON(tx, "lockouts", "P-", func(k string, l lockout) error {
			who = append(who, k+" "+l.By)
			return nil
		})
		if strings.Join(who, ",") != "P-01 anna,P-02 ben" {
			t.Errorf("%v", who)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx Tx) error { return PutJSON(tx, "x", "k", func() {}) }); err == nil {
		t.Error("a function was stored as JSON")
	}
}

func TestUpdateAboveTheCapChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db := openTest(t, path, Options{MaxSize: MinMaxSize})
	value := strings.Repeat("x", 5000)
	var full *SizeError
	n := 0
	for ; full == nil; n++ {
		err := db.Update(func(tx Tx) error { return tx.Put("x", fmt.Sprint(n), []byte(value)) })
		if err != nil && !errors.As(err, &full) {
			t.Fatal(err)
		}
		if n > 1000 {
			t.Fatal("the cap was never reached")
		}
	}
	n--
	t.Logf("%d values of 5000 bytes in a cap of 1 MiB; %v", n, full)
	if n < 75 {
		t.Errorf("the cap was reached at %d values already", n)
	}
	if err := db.Update(func(tx Tx) error { return tx.Put("y", "big", make([]byte, 8<<20)) }); !errors.As(err, &full) {
		t.Fatalf("one value above the cap: %v", err)
	}
	if list, err := dump(db, "x", ""); err != nil || len(list) != n {
		t.Fatalf("%d values are left of %d, %v", len(list), n, err)
	}
	for i := range n { // each in its own transaction: a full store can be emptied
		if err := db.Update(func(tx Tx) error { return tx.Delete("x", fmt.Sprint(i)) }); err != nil {
			t.Fatalf("delete %d: %v", i, err)
		}
	}
	put(t, db, "x", "again", value)
	if info, err := os.Stat(path); err != nil || info.Size() > MinMaxSize+deleteReserve {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	sound(t, path)
}

func TestCloseWaitsForReadersAndEndsUse(t *testing.T) {
	db := newTest(t)
	inside, leave, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var readers sync.WaitGroup
	readers.Go(func() {
		err := db.View(func(tx Tx) error {
			close(inside)
			<-leave
			select {
			case <-closed:
				t.Error("the file was closed under a reader")
			default:
			}
			_, err := tx.Get("meta", "format")
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	go func() { closed <- db.Close() }()
	close(leave)
	readers.Wait()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if err := db.View(func(Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("view: %v", err)
	}
	if err := db.Update(func(Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("update: %v", err)
	}
}

func TestManyGoroutinesReadAndWrite(t *testing.T) {
	db := newTest(t)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 20 {
				put(t, db, "x", fmt.Sprintf("%d/%d", g, i), "v")
				if _, err := dump(db, "x", fmt.Sprint(g)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if list, err := dump(db, "x", ""); len(list) != 80 || err != nil {
		t.Fatalf("%d values, %v", len(list), err)
	}
	sound(t, db.Path())
}

func TestOptionsAreChecked(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []Options{{}, {Format: -1}, {Format: 1, MaxSize: 1000}, {Format: 1, MaxSize: -1}} {
		if db, err := Open(filepath.Join(dir, "x.db"), o); err == nil {
			t.Errorf("%+v was taken", o)
			db.Close()
		}
	}
	if _, err := Open(filepath.Join(dir, "missing", "x.db"), Options{Format: 1}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

// BenchmarkOpen is the checked start over 1,000 contracts of 5 kB.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "registry.db")
	db := openTest(b, path, Options{})
	value := []byte(strings.Repeat("x", 5000))
	err := db.Update(func(tx Tx) error {
		for i := range 1000 {
			if err := tx.Put("contracts", fmt.Sprint(i), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		again, err := Open(path, Options{Format: 1})
		if err != nil {
			b.Fatal(err)
		}
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAFileIsFreshUntilSomethingWasPut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	reopened := func(want bool) *DB {
		t.Helper()
		db := openTest(t, path, Options{})
		if fresh, err := db.Fresh(); fresh != want || err != nil {
			t.Errorf("fresh %v, %v; want %v", fresh, err, want)
		}
		return db
	}
	for range 2 {
		if err := reopened(true).Close(); err != nil {
			t.Fatal(err)
		}
	}
	db := reopened(true)
	put(t, db, "a", "k", "v")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	reopened(false)
}
