package journal

import (
	"bufio"
	"bytes"
	"context"
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

	"capd/internal/store"
)

// small makes a journal of two segments and returns the bytes of both.
func small(t testing.TB) (dir string, first, second []byte) {
	t.Helper()
	dir = newDir(t)
	j := open(t, dir, Options{SegmentSize: MinSegmentSize, Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC) }})
	add(t, j, Intent, 1, "open the valve")
	add(t, j, Outcome, 2, strings.Repeat("long ", 700))
	add(t, j, Intent, 3, strings.Repeat("long ", 100)) // begins the second segment
	add(t, j, Outcome, 4, "confirmed")
	closeNow(t, j)
	var err error
	if first, err = os.ReadFile(segmentPath(dir, 1)); err != nil {
		t.Fatal(err)
	}
	if second, err = os.ReadFile(segmentPath(dir, 2)); err != nil {
		t.Fatal(err)
	}
	return dir, first, second
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// offsets returns where each record of a segment begins, and its end.
func offsets(t testing.TB, data []byte) (list []int) {
	t.Helper()
	at := headerSize
	for at < len(data) {
		list = append(list, at)
		_, size, err := decodeHead(data[at:])
		if err != nil {
			t.Fatal(err)
		}
		at += size
	}
	return append(list, at)
}

func TestLastRecordTornAtEveryByteIsCutOffAndReported(t *testing.T) {
	dir, _, data := small(t)
	path, at := segmentPath(dir, 2), offsets(t, data)
	last := at[len(at)-2]
	for n := last; n < len(data); n++ {
		write(t, path, data[:n])
		j := open(t, dir, Options{SegmentSize: MinSegmentSize})
		torn := j.Opened().Torn
		if n == last {
			if torn != nil || j.Opened().Last != 3 {
				t.Fatalf("cut between records: %+v", j.Opened())
			}
		} else if torn == nil || torn.File != path || torn.Offset != int64(last) || torn.Bytes != int64(n-last) {
			t.Fatalf("cut at %d: %+v", n, torn)
		}
		if seq := add(t, j, Outcome, 4, "after the crash"); seq != 4 {
			t.Fatalf("cut at %d: the next sequence is %d", n, seq)
		}
		closeNow(t, j)
		got := lines(t, dir)
		if len(got) != 4 || !strings.Contains(got[3], "after the crash") {
			t.Fatalf("cut at %d: %q", n, got)
		}
	}
}

func TestEveryFlippedBitIsFoundAndNothingIsTouched(t *testing.T) {
	dir, first, second := small(t)
	for index, data := range map[uint32][]byte{1: first, 2: second} {
		path := segmentPath(dir, index)
		for i := range data {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << (i % 8)
			write(t, path, bad)
			_, err := Read(t.Context(), dir, nil)
			if i%8 == 0 {
				_, err = Open(t.Context(), dir, Options{})
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.File != path || damaged.Offset > int64(i) {
				t.Fatalf("segment %d, byte %d: %v", index, i, err)
			}
			if i >= headerSize && (damaged.Seq == 0 || !strings.Contains(err.Error(), "backup")) {
				t.Fatalf("segment %d, byte %d: %v", index, i, err)
			}
			if !bytes.Equal(mustRead(t, path), bad) {
				t.Fatalf("segment %d, byte %d: the file was changed", index, i)
			}
		}
		write(t, path, data)
	}
	closeNow(t, open(t, dir, Options{}))
}

func TestOlderSegmentCutAnywhereIsDamage(t *testing.T) {
	dir, first, _ := small(t)
	for n := 0; n < len(first); n += 7 {
		write(t, segmentPath(dir, 1), first[:n])
		_, err := Open(t.Context(), dir, Options{})
		var damaged *DamagedError
		if !errors.As(err, &damaged) {
			t.Fatalf("%d bytes left: %v", n, err)
		}
	}
}

func TestSegmentsMissingSwappedOrForeignAreDamage(t *testing.T) {
	dir, first, second := small(t)
	j := open(t, dir, Options{SegmentSize: MinSegmentSize}) // a third segment, so that the second can miss
	add(t, j, Event, 5, strings.Repeat("x", 3900))
	closeNow(t, j)
	alien := open(t, newDir(t), Options{})
	add(t, alien, Intent, 1, "of another plant")
	add(t, alien, Outcome, 2, "")
	closeNow(t, alien)
	for name, spoil := range map[string]func(){
		"missing":           func() { _ = os.Remove(segmentPath(dir, 2)) },
		"swapped":           func() { write(t, segmentPath(dir, 1), second) },
		"repeated":          func() { write(t, segmentPath(dir, 2), first) },
		"of another chain":  func() { write(t, segmentPath(dir, 1), mustRead(t, segmentPath(alien.dir, 1))) },
		"empty":             func() { write(t, segmentPath(dir, 2), nil) },
		"not a segment":     func() { write(t, segmentPath(dir, 2), []byte(strings.Repeat("text ", 100))) },
		"longer than sound": func() { write(t, segmentPath(dir, 1), append(bytes.Clone(first), 0)) },
	} {
		spoil()
		var damaged *DamagedError
		if _, err := Read(t.Context(), dir, nil); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
		write(t, segmentPath(dir, 1), first)
		write(t, segmentPath(dir, 2), second)
	}
	if _, err := Read(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

func TestOtherFormatIsNamed(t *testing.T) {
	dir, _, second := small(t)
	newer := bytes.Clone(second[:headerSize])
	newer[8] = 9
	sealHeader(newer)
	write(t, segmentPath(dir, 2), newer)
	_, err := Open(t.Context(), dir, Options{})
	var format *FormatError
	if !errors.As(err, &format) || format.Have != 9 || format.Want != Format || !strings.Contains(err.Error(), "format 9") {
		t.Fatal(err)
	}
}

// TestPowerLossInUnsyncedWrites: parts of what was written and never synced are zeros; what was durable is kept.
func TestPowerLossInUnsyncedWrites(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{})
	add(t, j, Intent, 1, "durable")
	for i := range 3 {
		if _, err := j.AppendAdvisory(t.Context(), Progress, note{i, strings.Repeat("p", 100)}); err != nil {
			t.Fatal(err)
		}
	}
	closeNow(t, j)
	data, err := os.ReadFile(segmentPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	at := offsets(t, data)
	lost := bytes.Clone(data)
	clear(lost[at[1]+20 : at[1]+120]) // the first of three advisory records; the two behind it are whole
	write(t, segmentPath(dir, 1), lost)
	again := open(t, dir, Options{})
	if r := again.Opened(); r.Last != 1 || r.Torn == nil || r.Torn.Bytes != int64(len(data)-at[1]) {
		t.Fatalf("%+v, %+v", r, r.Torn)
	}
	add(t, again, Outcome, 2, "")
	closeNow(t, again)

	tail := append(bytes.Clone(data), make([]byte, 700)...) // the size reached the disk, the data did not
	write(t, segmentPath(dir, 1), tail)
	if r := open(t, dir, Options{}).Opened(); r.Last != 4 || r.Torn == nil || r.Torn.Bytes != 700 {
		t.Fatalf("%+v, %+v", r, r.Torn)
	}
}

// TestLostDurableRecordIsDamage: the same zeros are damage if a later record says that the lost one had been on disk.
func TestLostDurableRecordIsDamage(t *testing.T) {
	dir, _, data := small(t)
	at := offsets(t, data)
	lost := bytes.Clone(data)
	clear(lost[at[0]+20 : at[0]+200])
	write(t, segmentPath(dir, 2), lost)
	_, err := Open(t.Context(), dir, Options{})
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Seq != 3 || damaged.Offset != int64(at[0]) {
		t.Fatal(err)
	}
}

func TestCrashWhileASegmentBegins(t *testing.T) {
	dir, _, second := small(t)
	for n := 0; n <= headerSize; n += 16 { // the half-made file has not got its name yet
		write(t, segmentPath(dir, 3)+newSuffix, second[:n])
		j := open(t, dir, Options{SegmentSize: MinSegmentSize})
		if r := j.Opened(); r.Last < 4 || r.Torn != nil {
			t.Fatalf("%+v", r)
		}
		closeNow(t, j)
	}
	j := open(t, dir, Options{SegmentSize: MinSegmentSize})
	add(t, j, Event, 5, strings.Repeat("x", 3900))
	closeNow(t, j)
	write(t, segmentPath(dir, 3), mustRead(t, segmentPath(dir, 3))[:headerSize]) // named, and no record came to disk
	if r := open(t, dir, Options{}).Opened(); r.Last != 4 || r.Segments != 3 {
		t.Fatalf("%+v", r)
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMain lets the test binary play another process: JOURNAL_HELPER names the part, JOURNAL_DIR the folder.
func TestMain(m *testing.M) {
	if part := os.Getenv("JOURNAL_HELPER"); part != "" {
		if err := helper(context.Background(), part, os.Getenv("JOURNAL_DIR")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(ctx context.Context, part, dir string) error {
	j, err := Open(ctx, dir, Options{SegmentSize: 8 << 10, MaxTotal: 1 << 20})
	if err != nil {
		return err
	}
	fmt.Println("open")
	switch part {
	case "hold":
		_, err = io.Copy(io.Discard, os.Stdin)
	case "count":
		for seq := Seq(0); err == nil; {
			if _, err = j.AppendAdvisory(ctx, Progress, note{int(seq), "advisory"}); err != nil {
				break
			}
			seq, err = j.Append(ctx, Outcome, note{int(seq), strings.Repeat("x", int(seq)%700)})
			fmt.Println(seq)
		}
	case "full":
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4000, Max: 4000}); err != nil {
			return err
		}
		for err == nil {
			_, err = j.Append(ctx, Event, note{0, "fills the disk"})
		}
		fmt.Println(j.Stats().Durable, errors.Is(err, ErrFailed) && errors.Is(err, syscall.EFBIG))
		err = nil
	}
	return errors.Join(err, j.Close())
}

func start(t *testing.T, part, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: with -short no other process is started; an emulator of another processor may not survive it")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JOURNAL_HELPER="+part, "JOURNAL_DIR="+dir)
	if _, err := cmd.StdinPipe(); err != nil { // open until Wait
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
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "open\n" || err != nil {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd, out
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	dir := newDir(t)
	for round := range 8 {
		cmd, out := start(t, "count", dir)
		last := 0
		for range 2 + 9*round {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if last, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
				t.Fatal(err)
			}
		}
		kill(t, cmd)
		j := open(t, dir, Options{LockTimeout: 5 * time.Second})
		if r := j.Opened(); int(r.Last) < last {
			t.Fatalf("%d was acknowledged, %d is there", last, r.Last)
		}
		closeNow(t, j)
	}
}

func TestFolderInUseNamesTheOtherDaemon(t *testing.T) {
	dir := newDir(t)
	cmd, _ := start(t, "hold", dir)
	_, err := Open(t.Context(), dir, Options{})
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.PID != cmd.Process.Pid || !strings.Contains(err.Error(), strconv.Itoa(locked.PID)) {
		t.Error(err)
	}
	kill(t, cmd)
	open(t, dir, Options{LockTimeout: 5 * time.Second})
}

func TestRealFullDisk(t *testing.T) {
	dir := newDir(t)
	cmd, out := start(t, "full", dir)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	durable, typed, _ := strings.Cut(strings.TrimSpace(line), " ")
	if typed != "true" {
		t.Errorf("not a typed failure: %s", line)
	}
	if r := open(t, dir, Options{}).Opened(); fmt.Sprint(r.Last) != durable || r.Torn != nil {
		t.Fatalf("%+v, %s records were acknowledged", r, durable)
	}
}

func TestUnknownFilesInTheFolderAreLeftAlone(t *testing.T) {
	dir, _, _ := small(t)
	for _, name := range []string{"notes.txt", "1.log", "00000009.log.bak", "abcdefgh.log"} {
		write(t, filepath.Join(dir, name), []byte("keep"))
	}
	closeNow(t, open(t, dir, Options{}))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Fatalf("%v, %v", entries, err)
	}
}
