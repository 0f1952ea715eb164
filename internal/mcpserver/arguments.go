package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// decodeArguments reads a call's arguments. Numbers stay exact decimals, in one spelling, so that 60 and 60.0 are the same call.
func decodeArguments(raw json.RawMessage) (map[string]any, *outcome.Refusal) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var args map[string]any
	if err := d.Decode(&args); err != nil {
		return nil, outcome.Refuse(outcome.InvalidParameter, "arguments must be a JSON object with the arguments by name")
	}
	for name, v := range args {
		exact, refusal := exactNumbers(name, v)
		if refusal != nil {
			return nil, refusal
		}
		args[name] = exact
	}
	return args, nil
}

// exactNumbers spells every number in a value in the one way of package physical.
func exactNumbers(name string, v any) (any, *outcome.Refusal) {
	switch x := v.(type) {
	case json.Number:
		d, err := physical.ParseDecimal(x.String())
		if err != nil {
			refusal := outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("argument %q = %s is larger or finer than what can be computed exactly", name, clip(x.String())))
			refusal.Next = "give a number of the size and fineness that the machine works with"
			return nil, refusal
		}
		return json.Number(d.String()), nil
	case map[string]any:
		for key, inner := range x {
			exact, refusal := exactNumbers(name+"."+key, inner)
			if refusal != nil {
				return nil, refusal
			}
			x[key] = exact
		}
	case []any:
		for i, inner := range x {
			exact, refusal := exactNumbers(fmt.Sprintf("%s.%d", name, i), inner)
			if refusal != nil {
				return nil, refusal
			}
			x[i] = exact
		}
	}
	return v, nil
}

// arguments reads the arguments of capd's own tools. The first thing that is wrong becomes the refusal.
type arguments struct {
	values  map[string]any
	asked   []string
	refusal *outcome.Refusal
}

func newArguments(raw json.RawMessage) *arguments {
	values, refusal := decodeArguments(raw)
	return &arguments{values: values, refusal: refusal}
}

func (a *arguments) refuse(r *outcome.Refusal) {
	if a.refusal == nil {
		a.refusal = r
	}
}

// get gives an argument, nil when it is absent or null.
func (a *arguments) get(name string) any {
	a.asked = append(a.asked, name)
	return a.values[name]
}

// text reads a text of at most most bytes.
func (a *arguments) text(name string, most int) string {
	v := a.get(name)
	if v == nil {
		return ""
	}
	text, ok := v.(string)
	if !ok || len(text) > most {
		a.refuse(wrongArgument(name, v, fmt.Sprintf("a text of at most %d bytes", most)))
	}
	return text
}

// needText is text that must be there; hint tells what to give.
func (a *arguments) needText(name string, most int, hint string) string {
	text := a.text(name, most)
	if text == "" {
		a.refuse(outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("argument %q is missing: %s", name, hint)))
	}
	return text
}

// integer reads a whole number between two limits.
func (a *arguments) integer(name string, low, high, absent int64) int64 {
	v := a.get(name)
	if v == nil {
		return absent
	}
	number, ok := v.(json.Number)
	if !ok {
		a.refuse(wrongArgument(name, v, fmt.Sprintf("a whole number from %d to %d", low, high)))
		return absent
	}
	n, err := number.Int64()
	if err != nil || n < low || n > high {
		a.refuse(outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("argument %q = %s is not a whole number from %d to %d", name, clip(number.String()), low, high)))
		return absent
	}
	return n
}

func (a *arguments) flag(name string, absent bool) bool {
	v := a.get(name)
	if v == nil {
		return absent
	}
	flag, ok := v.(bool)
	if !ok {
		a.refuse(wrongArgument(name, v, "true or false"))
	}
	return flag
}

func (a *arguments) object(name string) map[string]any {
	v := a.get(name)
	if v == nil {
		return map[string]any{}
	}
	m, ok := v.(map[string]any)
	if !ok {
		a.refuse(wrongArgument(name, v, "a JSON object"))
	}
	return m
}

// choice reads one of some texts.
func (a *arguments) choice(name string, among ...string) string {
	text := a.text(name, 64)
	if text != "" && !slices.Contains(among, text) {
		a.refuse(wrongArgument(name, text, "one of "+strings.Join(among, ", ")))
	}
	return text
}

// done refuses arguments that nobody asked for.
func (a *arguments) done() *outcome.Refusal {
	for _, name := range inventory.SortedKeys(a.values) {
		if slices.Contains(a.asked, name) {
			continue
		}
		text := fmt.Sprintf("unknown argument %q", clip(name))
		if near := document.Suggest(name, a.asked); near != "" {
			text += fmt.Sprintf("; did you mean %q", near)
		} else {
			text += "; this tool takes " + strings.Join(a.asked, ", ")
		}
		a.refuse(outcome.Refuse(outcome.InvalidParameter, text))
	}
	return a.refusal
}

func wrongArgument(name string, v any, want string) *outcome.Refusal {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte("?")
	}
	return outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("argument %q must be %s, not %s", name, want, clip(string(raw))))
}
