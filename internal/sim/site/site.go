// Package site is the configuration of the demo station: inventory, contracts and profiles for the plant of package sim, as
// files that a newcomer can read and copy.
//
// Its promise: what Write puts into a folder is a complete configuration of capd for the plant at the given addresses. It starts
// nothing.
package site

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"
	"time"
)

//go:embed files
var files embed.FS

// Params is what the files depend on.
type Params struct {
	Modbus string  // host:port of the plant's PLC
	Serial string  // path of the serial line with drive, power meter and relays
	Listen string  // host:port of MCP, such as 127.0.0.1:0
	State  string  // state folder
	Run    string  // folder of the sockets
	Speed  float64 // every time in the contracts is divided by it; 1 is real time
}

// Write fills the folder and returns the path of capd.yaml.
func Write(dir string, p Params) (string, error) {
	if p.Speed <= 0 {
		return "", fmt.Errorf("site: speed %g must be above 0", p.Speed)
	}
	scale := func(text string) (string, error) {
		d, err := time.ParseDuration(text)
		return time.Duration(float64(d) / p.Speed).Round(time.Millisecond).String(), err
	}
	root, err := fs.Sub(files, "files")
	if err != nil {
		return "", fmt.Errorf("site: %w", err)
	}
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return fill(root, path, target, p, scale)
	})
	if err != nil {
		return "", fmt.Errorf("site: write to %s: %w", dir, err)
	}
	return filepath.Join(dir, "capd.yaml"), nil
}

func fill(root fs.FS, path, target string, p Params, scale func(string) (string, error)) (err error) {
	source, err := fs.ReadFile(root, path)
	if err != nil {
		return err
	}
	t, err := template.New(path).Funcs(template.FuncMap{"d": scale}).Option("missingkey=error").Parse(string(source))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return t.Execute(f, p)
}
