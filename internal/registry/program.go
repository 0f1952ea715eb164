package registry

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
)

// noteHead is what stands before the build ID in its note: two lengths, a type, the name "Go".
const noteHead = 16

// programID identifies the running program by its content: the build ID that cmd/go notes in it (see go tool buildid),
// four hashes of which the last is of the whole program. A program that was linked with another ID, or none, has an error.
func programID() (string, error) {
	f, err := elf.Open("/proc/self/exe") // what runs, also when an update has replaced the file
	if err != nil {
		return "", fmt.Errorf("registry: build ID: %w", err)
	}
	note, err := noteOf(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("registry: build ID: %w", err)
	}
	id := strings.TrimRight(string(note[min(noteHead, len(note)):]), "\x00")
	if strings.Count(id, "/") != 3 {
		return "", fmt.Errorf("registry: build ID: %q is not one of cmd/go", id)
	}
	return id, nil
}

func noteOf(f *elf.File) ([]byte, error) {
	section := f.Section(".note.go.buildid")
	if section == nil {
		return nil, errors.New("the program has none")
	}
	return section.Data()
}
