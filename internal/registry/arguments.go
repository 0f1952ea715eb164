package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"capd/internal/document"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Check judges arguments against the schema and returns them for expressions, with defaults filled in.
func (p *Params) Check(args map[string]any) (map[string]any, *outcome.Refusal) {
	full := maps.Clone(p.defaults)
	maps.Copy(full, args)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if number, found := uncomputable(args[name]); found {
			return nil, outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("argument %q: the number %s is beyond what can be computed", name, show(number)))
		}
	}
	if err := p.schema.Validate(full); err != nil {
		return nil, p.refusal(err, full)
	}
	values := make(map[string]any, len(p.Types))
	for name := range p.Types {
		v, ok := physical.OfAny(full[name])
		if !ok {
			return nil, outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("argument %q cannot be used: %s", name, show(full[name])))
		}
		values[name] = v.Any()
		if back, _ := physical.OfAny(values[name]); !back.Equal(v) {
			return nil, outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("argument %q: the number %s has more digits than can be computed with; the nearest that has not is %s",
				name, show(full[name]), back))
		}
	}
	return values, nil
}

// uncomputable finds a number whose exponent would make exact arithmetic costly, as the schema library does not.
func uncomputable(v any) (json.Number, bool) {
	switch x := v.(type) {
	case json.Number:
		_, err := physical.ParseDecimal(x.String())
		return x, err != nil
	case []any:
		for _, item := range x {
			if n, found := uncomputable(item); found {
				return n, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if n, found := uncomputable(x[key]); found {
				return n, true
			}
		}
	}
	return "", false
}

// refusal turns a validation error into one sentence: the names that are wrong, else the first value that is.
func (p *Params) refusal(err error, args map[string]any) *outcome.Refusal {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return outcome.Refuse(outcome.InvalidParameter, err.Error())
	}
	faults := causes(invalid)
	if text := p.misnamed(faults); text != "" {
		return outcome.Refuse(outcome.InvalidParameter, text)
	}
	cause := slices.MinFunc(faults, func(x, y *jsonschema.ValidationError) int {
		return slices.Compare(x.InstanceLocation, y.InstanceLocation)
	})
	name := strings.Join(cause.InstanceLocation, ".")
	value := show(lookup(args, cause.InstanceLocation))
	invalidArgument := func(format string, a ...any) *outcome.Refusal {
		return outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("argument %q ", name)+fmt.Sprintf(format, a...))
	}
	switch k := cause.ErrorKind.(type) {
	case *kind.Minimum:
		return p.outOfRange(name, value, "below the minimum", k.Want)
	case *kind.Maximum:
		return p.outOfRange(name, value, "above the maximum", k.Want)
	case *kind.ExclusiveMinimum:
		return p.outOfRange(name, value, "not above", k.Want)
	case *kind.ExclusiveMaximum:
		return p.outOfRange(name, value, "not below", k.Want)
	case *kind.Type:
		return invalidArgument("is %s, but %s is needed; got %s", article(k.Got), article(strings.Join(k.Want, " or ")), value)
	case *kind.Enum:
		return invalidArgument("cannot be %s; use one of %s", value, show(k.Want))
	case *kind.Pattern:
		return invalidArgument("= %s does not match the pattern %s", value, k.Want)
	case *kind.MultipleOf:
		return invalidArgument("= %s is no multiple of %s", value, decimalText(k.Want))
	default:
		return invalidArgument("= %s does not satisfy %q of its schema", value, strings.Join(k.KeywordPath(), "/"))
	}
}

// article puts the article before the name of a JSON type.
func article(name string) string {
	switch {
	case name == "null":
		return name
	case strings.ContainsRune("aeio", rune(name[0])):
		return "an " + name
	default:
		return "a " + name
	}
}

// causes lists the single faults of a validation error.
func causes(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, causes(c)...)
	}
	return all
}

// misnamed says which arguments are missing and which nobody knows, both at once, because the one often explains the other; ""
// when the names are right.
func (p *Params) misnamed(faults []*jsonschema.ValidationError) string {
	var missing, unknown []string
	for _, e := range faults {
		in := func(names []string) (out []string) {
			for _, name := range names {
				out = append(out, strings.Join(append(slices.Clone(e.InstanceLocation), name), "."))
			}
			return out
		}
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			missing = append(missing, in(k.Missing)...)
		case *kind.AdditionalProperties:
			unknown = append(unknown, in(k.Properties)...)
		}
	}
	slices.Sort(missing)
	slices.Sort(unknown)
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "missing argument "+quoted(missing))
	}
	if len(unknown) > 0 {
		parts = append(parts, "unknown argument "+quoted(unknown))
		if near := document.Suggest(unknown[0], p.names); near != "" {
			return strings.Join(append(parts, fmt.Sprintf("did you mean %q?", near)), "; ")
		}
	}
	switch {
	case len(parts) == 0:
		return ""
	case len(p.names) == 0:
		return strings.Join(append(parts, "this tool takes none"), "; ")
	default:
		return strings.Join(append(parts, "this tool takes "+quoted(p.names)), "; ")
	}
}

func (p *Params) outOfRange(name, value, how string, limit *big.Rat) *outcome.Refusal {
	unit := p.units[name]
	if unit == "1" {
		unit = ""
	}
	text := func(parts ...string) string { return strings.TrimSpace(strings.Join(append(parts, unit), " ")) }
	r := outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("argument %q = %s is %s %s", name, value, how, text(decimalText(limit))))
	if span, ok := p.spans[name]; ok {
		r.Allowed = &span
		r.Next = text("ask for", span.Low.String(), "to", span.High.String())
	}
	return r
}

// decimalText is a number of a schema as it would be written without an exponent.
func decimalText(r *big.Rat) string {
	digits, _ := r.FloatPrec() // exact, because schemas hold decimal numbers
	return r.FloatString(digits)
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

func lookup(v any, path []string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		v = m[key]
	}
	return v
}

// show is a value in a message, cut to a readable length.
func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 80
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "..."
	}
	return string(raw)
}
