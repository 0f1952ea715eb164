package registry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"capd/internal/store"
)

// versions lists what the history of a tool keeps.
func (b *box) versions(tool string) string {
	b.t.Helper()
	history, err := b.History(tool)
	must(b.t, err)
	var all []string
	for _, v := range history {
		all = append(all, v.version().String())
	}
	return strings.Join(all, " ")
}

func TestTheHistoryKeepsTheNewestVersionsOfEachToolAndThoseInForce(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a1.yaml", reading("a"), "contracts.d/other.yaml", reading("other"))
	b.expect("a_read other_read")
	for i := range keptVersions + 5 {
		b.write("contracts.d/a2.yaml", strings.Replace(reading("a"), "1.0.0", fmt.Sprintf("2.%d.0", i), 1))
		b.expect("a_read a_read_v2 other_read")
	}
	want := "1.0.0" // old, and in force
	for i := range keptVersions {
		want += fmt.Sprintf(" 2.%d.0", i+5)
	}
	if got := b.versions("a"); got != want {
		t.Errorf("kept: %s\nwant: %s", got, want)
	}
	if got := b.versions("other"); got != "1.0.0" {
		t.Errorf("the other tool: %s", got)
	}
	b.write("contracts.d/a1.yaml", "")
	b.expect("a_read_v2 other_read")
	b.write("contracts.d/a2.yaml", strings.Replace(reading("a"), "1.0.0", "2.99.0", 1))
	b.expect("a_read_v2 other_read")
	if got := b.versions("a"); strings.Contains(got, "1.0.0") || strings.Contains(got, "2.5.0") || !strings.HasSuffix(got, "2.24.0 2.99.0") {
		t.Errorf("after version 1 was withdrawn: %s", got)
	}
}

func TestTheHistoryKeepsAVersionThatIsSuspended(t *testing.T) {
	b := newBox(t)
	second := func(version string) string {
		return strings.NewReplacer("1.0.0", version, "secret: VALVE.secret, ", "").Replace(reading("a"))
	}
	b.write("assets.d/plant.yaml", plant, "contracts.d/a1.yaml", reading("a"), "contracts.d/a2.yaml", second("2.0.0"))
	b.expect("a_read a_read_v2")
	b.write("assets.d/plant.yaml", strings.Replace(plant, "      secret:", "      hidden:", 1))
	for i := range keptVersions + 1 {
		b.write("contracts.d/a2.yaml", second(fmt.Sprintf("2.%d.0", i+1)))
		b.expect("a_read_v2", "a1.yaml: nothing: contracts.d/a1.yaml:6:")
	}
	b.write("assets.d/plant.yaml", plant)
	b.expect("a_read a_read_v2")
	if got := b.versions("a"); !strings.HasPrefix(got, "1.0.0 2.2.0 ") {
		t.Errorf("kept: %s", got)
	}
}

func TestTheHistoryOfAllToolsTogetherIsBounded(t *testing.T) {
	b := newBox(t)
	const count, limit = 20, 100_000
	key := func(i int) string { // not in the order of their age
		if i == 1 {
			return "tool@1.0.0@kept"
		}
		return fmt.Sprintf("tool-%02d@1.0.0@x", (i*7)%count)
	}
	must(t, b.db.Update(func(tx store.Tx) error {
		for i := range count {
			s := saved(File{Path: "x", Kind: KindContract, Source: make([]byte, limit/count)})
			s.Published = time.Unix(int64(i), 0)
			must(t, store.PutJSON(tx, bucketVersions, key(i), s))
		}
		return nil
	}))
	must(t, b.db.Update(func(tx store.Tx) error { return trimHistory(tx, map[string]bool{"kept": true}, limit) }))
	total, left := 0, map[string]bool{}
	must(t, b.db.View(func(tx store.Tx) error {
		return tx.ForEach(bucketVersions, "", func(key string, value []byte) error {
			total, left[key] = total+len(value), true
			return nil
		})
	}))
	if total > limit || total < limit/2 || !left[key(1)] || !left[key(count-1)] || left[key(0)] || left[key(2)] {
		t.Errorf("%d bytes are kept: %v", total, left)
	}
}
