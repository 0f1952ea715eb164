package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/config"
	"capd/internal/sim/site"
)

func params(speed float64) site.Params {
	return site.Params{Modbus: "127.0.0.1:1502", Serial: "/dev/pts/1", Listen: "127.0.0.1:0", State: "state", Run: "run", Speed: speed}
}

func TestTheSiteIsAConfigurationWhoseTimesFollowTheSpeed(t *testing.T) {
	for speed, within := range map[float64]string{1: "within: 15s", 5: "within: 3s", 10: "within: 1.5s"} {
		dir := t.TempDir()
		path, err := site.Write(dir, params(speed))
		if err != nil {
			t.Fatal(err)
		}
		c, problems, err := config.Load(path)
		if err != nil || len(problems) > 0 || c.Mode != "active" || c.Folders.Contracts != filepath.Join(dir, "contracts.d") {
			t.Errorf("speed %g: %v %v %+v", speed, err, problems, c)
		}
		text, err := os.ReadFile(filepath.Join(dir, "contracts.d", "fcv-04.yaml"))
		if err != nil || !strings.Contains(string(text), within) || strings.Contains(string(text), "{{") {
			t.Errorf("speed %g: %v\n%s", speed, err, text)
		}
	}
}

func TestASiteThatCannotBeWrittenSaysWhy(t *testing.T) {
	if _, err := site.Write(t.TempDir(), params(0)); err == nil || !strings.Contains(err.Error(), "speed 0") {
		t.Errorf("speed 0: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Write(filepath.Join(file, "below"), params(1)); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a folder that cannot be made: %v", err)
	}
}
