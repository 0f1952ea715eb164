package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play another process: STORE_HELPER names the part, STORE_PATH the file.
func TestMain(m *testing.M) {
	if part := os.Getenv("STORE_HELPER"); part != "" {
		if err := helper(part, os.Getenv("STORE_PATH")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(part, path string) error {
	db, err := Open(path, Options{Format: 1})
	if err != nil {
		return err
	}
	fmt.Println("open")
	switch part {
	case "hold":
		_, err = io.Copy(io.Discard, os.Stdin) // until the test closes the pipe or kills
	case "count":
		for i := 1; err == nil; i++ {
			err = db.Update(func(tx Tx) error {
				return errors.Join(PutJSON(tx, "x", "n", i), tx.Put("y", strconv.Itoa(i%50), bytes.Repeat([]byte("v"), i%3000)))
			})
			fmt.Println(i)
		}
	case "full":
		err = fillDisk(db)
	}
	return errors.Join(err, db.Close())
}

// fillDisk updates under a limit on the file's size, which fails as a full disk does.
func fillDisk(db *DB) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 1 << 40}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	big := bytes.Repeat([]byte("v"), 200<<10)
	if err := db.Update(func(tx Tx) error { return tx.Put("x", "big", big) }); err == nil {
		return errors.New("an update beyond the limit was taken")
	}
	if err := db.Update(func(tx Tx) error { return tx.Put("x", "small", []byte("v")) }); err != nil {
		return fmt.Errorf("a small update after the failed one: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return db.Update(func(tx Tx) error { return tx.Put("x", "big", big) })
}

// start runs the test binary as a helper and waits until it has the file open.
func start(t *testing.T, part, path string) (cmd *exec.Cmd, stdin io.Closer, out *bufio.Reader) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: with -short no other process is started; an emulator of another processor may not survive it")
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_HELPER="+part, "STORE_PATH="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skipf("SKIPPED: this kernel cannot start a %s program and no emulator is registered for it", runtime.GOARCH)
	} else if err != nil {
		t.Fatal(err)
	}
	out = bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "open\n" || err != nil {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd, in, out
}

func TestFileInUseNamesTheOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	cmd, stdin, _ := start(t, "hold", path)
	_, err := Open(path, Options{Format: 1, Timeout: 30 * time.Millisecond})
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatal(err)
	}
	if locked.PID != cmd.Process.Pid || !strings.HasPrefix("store.test", locked.Command) || locked.Command == "" {
		t.Errorf("owner %d %q, want %d store.test", locked.PID, locked.Command, cmd.Process.Pid)
	}
	for _, part := range []string{path, strconv.Itoa(locked.PID), locked.Command} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
	if err := stdin.Close(); err != nil { // the owner ends while the next one waits
		t.Fatal(err)
	}
	db, err := Open(path, Options{Format: 1, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatalf("after its owner left: %v", err)
	}
	if err := errors.Join(cmd.Wait(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestFileInUseByThisProcess(t *testing.T) {
	db := newTest(t)
	_, err := Open(db.Path(), Options{Format: 1})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.Contains(err.Error(), "this process") {
		t.Fatal(err)
	}
	if _, err := get(db, "meta", "format"); err != nil {
		t.Fatalf("the owner was disturbed: %v", err)
	}
}

func TestKilledWriterLosesNothingCommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	for round := range 6 {
		cmd, _, out := start(t, "count", path)
		last := 0
		for range 3 + 7*round {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if last, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		db, err := Open(path, Options{Format: 1, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		err = db.View(func(tx Tx) error {
			n, err := GetJSON[int](tx, "x", "n")
			if n < last {
				t.Errorf("%d was committed, %d is there", last, n)
			}
			return err
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		sound(t, path)
	}
}

func TestFullDiskLeavesTheOldStateAndIsSurvived(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	cmd, _, out := start(t, "full", path)
	rest, err := io.ReadAll(out)
	if err := errors.Join(err, cmd.Wait()); err != nil || len(rest) > 0 {
		t.Fatalf("%v: %s", err, rest)
	}
	db := openTest(t, path, Options{})
	for _, key := range []string{"small", "big"} {
		if _, err := get(db, "x", key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	sound(t, path)
}

func TestHalfMadeFirstFileIsMadeAgain(t *testing.T) {
	whole := newTest(t)
	data, err := os.ReadFile(whole.Path())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(data); n += 1000 { // killed at any moment before the rename
		path := filepath.Join(t.TempDir(), "registry.db")
		if err := os.WriteFile(path+newSuffix, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		put(t, openTest(t, path, Options{}), "x", "k", "v")
		if _, err := os.Stat(path + newSuffix); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("the half-made file is still there: %v", err)
		}
	}
}

func TestTwoProcessesMakeTheFirstFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	type opened struct {
		db  *DB
		err error
	}
	results := make(chan opened, 4)
	for range cap(results) {
		go func() {
			db, err := Open(path, Options{Format: 1, Timeout: 50 * time.Millisecond})
			results <- opened{db, err}
		}()
	}
	var owner *DB
	for range cap(results) {
		r := <-results
		var locked *LockedError
		switch {
		case r.err == nil && owner == nil:
			owner = r.db
		case r.err == nil:
			t.Error("two own the file")
		case !errors.As(r.err, &locked):
			t.Error(r.err)
		}
	}
	if owner == nil {
		t.Fatal("nobody owns the file")
	}
	put(t, owner, "x", "k", "v")
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOwnerInLockList(t *testing.T) {
	list := `1: POSIX  ADVISORY  READ 11 fe:00:77 128 128
2: FLOCK  ADVISORY  WRITE 22 fe:00:99 0 EOF
2: -> FLOCK  ADVISORY  WRITE 33 fe:00:55 0 EOF
3: FLOCK  ADVISORY  WRITE 44 00:1c:55 0 EOF
4: OFDLCK ADVISORY  WRITE -1 fe:00:66 0 EOF
5: FLOCK  ADVISORY  WRITE 0 fe:00:88 0 EOF
garbage
`
	dev := uint64(0xfe00)
	for inode, want := range map[uint64]int{77: 11, 99: 22, 55: 44, 66: 0, 88: 0, 9: 0} {
		if got := ownerIn(strings.NewReader(list), dev, inode); got != want {
			t.Errorf("inode %d: owner %d, want %d", inode, got, want)
		}
	}
}

func FuzzOwnerIn(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 22 fe:00:99 0 EOF\n", uint64(0xfe00), uint64(99))
	f.Fuzz(func(t *testing.T, list string, dev, inode uint64) {
		if pid := ownerIn(strings.NewReader(list), dev, inode); pid < 0 {
			t.Fatalf("pid %d", pid)
		}
	})
}
