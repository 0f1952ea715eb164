package lint

import (
	"path/filepath"
	"testing"

	"capd/internal/sim/site"
)

// The demo is what newcomers copy from.
func TestTheDemoStationHasNothingToComplainAbout(t *testing.T) {
	for _, speed := range []float64{1, 10} {
		dir := t.TempDir()
		if _, err := site.Write(dir, site.Params{Modbus: "127.0.0.1:502", Serial: "/dev/ttyS1", Listen: "127.0.0.1:0", State: "state", Run: "run", Speed: speed}); err != nil {
			t.Fatal(err)
		}
		assets := glob(t, dir, "assets.d")
		inv := plant(t, assets...)
		for _, path := range glob(t, dir, "contracts.d") {
			for _, p := range Run(parseContract(t, path), inv) {
				t.Errorf("at speed %g: %v (%s)", speed, p, p.Rule)
			}
		}
	}
}

func glob(t *testing.T, dir, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return files
}
