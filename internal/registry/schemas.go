package registry

import (
	"encoding/json"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas compiles each schema of a publish once: the contracts of a plant ask for the same few kinds of parameters again and again.
// A compiled schema never changes, so many actions may share it. The nil cache compiles always.
type schemas struct {
	mu     sync.Mutex
	byText map[string]*jsonschema.Schema
}

func newSchemas() *schemas { return &schemas{byText: map[string]*jsonschema.Schema{}} }

func (s *schemas) compile(source map[string]any) (*jsonschema.Schema, error) {
	text, err := json.Marshal(source) // keys in order, so equal schemas have equal texts
	if s == nil || err != nil {
		return compileSchema(source)
	}
	s.mu.Lock()
	known := s.byText[string(text)]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	schema, err := compileSchema(source)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byText[string(text)] = schema
	return schema, nil
}
