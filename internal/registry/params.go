package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/expression"
	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Reserved names of arguments that every actuation takes besides its own.
const (
	ArgRequestID = "request_id"
	ArgDryRun    = "dry_run"
)

// Params is an action's parameters: the schema that judges arguments, the one that agents see, and the types that expressions use.
type Params struct {
	Types    map[string]expression.Type
	Required []string
	Public   json.RawMessage // JSON Schema without x- keys, units in the descriptions, reserved arguments added
	schema   *jsonschema.Schema
	defaults map[string]any
	names    []string
	spans    map[string]outcome.Span // of the parameters with minimum and maximum
	units    map[string]string
}

// paramCompiler collects what is wrong with the parameters of one action.
type paramCompiler struct {
	Params
	action   *contract.Action
	schemas  *schemas
	problems document.Problems
}

func compileParams(a *contract.Action, cache *schemas) (Params, document.Problems) {
	k := &paramCompiler{action: a, schemas: cache, Params: Params{Types: map[string]expression.Type{}, defaults: map[string]any{}, spans: map[string]outcome.Span{}, units: map[string]string{}}}
	k.compile()
	return k.Params, k.problems
}

// bad reports something about a key of the schema, "" for the schema itself.
func (k *paramCompiler) bad(key, message, hint string) {
	pos, path := k.action.Pos, "actions."+k.action.ID+".parameters"
	if n := k.action.Parameters; n != nil {
		pos = n.Pos()
		if key != "" {
			pos = n.KeyPos(key)
		}
	}
	k.problems.Add(document.Problem{Pos: pos, Path: path, Rule: "schema", Message: message, Hint: hint})
}

// badProperty reports something about one parameter.
func (k *paramCompiler) badProperty(name, message, hint string) {
	k.problems.Add(document.Problem{Pos: k.action.Parameters.Get("properties").KeyPos(name), Path: "actions." + k.action.ID + ".parameters.properties." + name,
		Rule: "schema", Message: message, Hint: hint})
}

func (k *paramCompiler) compile() {
	source := map[string]any{"type": "object", "additionalProperties": false}
	if n := k.action.Parameters; n != nil {
		m, ok := n.Any().(map[string]any)
		if !ok {
			k.bad("", "parameters must be a JSON Schema object", "write {type: object, additionalProperties: false, properties: {...}}")
			return
		}
		source = m
	}
	if source["type"] != "object" {
		k.bad("type", "the parameters' schema must have type: object", "write type: object")
	}
	if source["additionalProperties"] != false {
		k.bad("additionalProperties", "the parameters' schema must refuse unknown arguments", "write additionalProperties: false")
	}
	if number, found := uncomputable(source); found {
		k.bad("", fmt.Sprintf("the number %s is beyond what can be computed", show(number)), "write a number of the plant")
		return
	}
	var err error
	if k.schema, err = k.schemas.compile(source); err != nil {
		k.bad("", "not a valid JSON Schema: "+err.Error(), "see json-schema.org, draft 2020-12")
		return
	}
	k.describe(source)
	if k.Public, err = publicSchema(source, k.action.Moves()); err != nil {
		k.bad("", "the schema cannot be shown: "+err.Error(), "")
	}
}

// schemaURL is the name under which a schema refers to itself. It is no address of anything.
const schemaURL = "capd:///parameters"

// noLoader keeps schemas from referring to files and addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may refer to its own parts only, not to %s", url)
}

func compileSchema(source map[string]any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	plain, err := plainJSON(source)
	if err != nil {
		return nil, err
	}
	if err := c.AddResource(schemaURL, plain); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// plainJSON gives the schema library its own form of a document.
func plainJSON(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(raw))
}

// describe notes the parameters by name and finds those that no call could ever satisfy.
func (k *paramCompiler) describe(source map[string]any) {
	properties, _ := source["properties"].(map[string]any)
	k.names = inventory.SortedKeys(properties)
	required, _ := source["required"].([]any)
	for _, r := range required {
		name, ok := r.(string)
		if !ok {
			continue
		}
		k.Required = append(k.Required, name)
		if _, declared := properties[name]; !declared {
			k.bad("required", fmt.Sprintf("the required parameter %q is not among the properties", name), didYouMean(name, k.names))
		}
	}
	for _, name := range k.names {
		property, _ := properties[name].(map[string]any)
		k.property(name, property)
	}
}

func (k *paramCompiler) property(name string, property map[string]any) {
	if name == ArgRequestID || name == ArgDryRun {
		k.badProperty(name, fmt.Sprintf("%q is reserved: every actuation takes it already", name), "choose another name")
	}
	if strings.HasPrefix(name, "x-") {
		k.badProperty(name, fmt.Sprintf("a parameter %q would be hidden from agents, as every key that begins with x-", name), "choose another name")
	}
	value, hasDefault := property["default"]
	if hasDefault {
		k.defaults[name] = value
		if plain, err := plainJSON(value); err != nil || k.schema.Properties[name].Validate(plain) != nil {
			k.badProperty(name, fmt.Sprintf("the default %s of %q is refused by its own schema", show(value), name), "correct the default or the limits")
		}
	}
	if t := typeOfProperty(property); t != expression.Unknown && (slices.Contains(k.Required, name) || hasDefault) {
		k.Types[name] = t
	}
	k.units[name], _ = property["x-unit"].(string)
	low, okLow := physical.OfAny(property["minimum"])
	high, okHigh := physical.OfAny(property["maximum"])
	if okLow && okHigh {
		span := outcome.Span{}
		span.Low, _ = low.Number()
		span.High, _ = high.Number()
		k.spans[name] = span
	}
}

func typeOfProperty(property map[string]any) expression.Type {
	switch property["type"] {
	case "number", "integer":
		return expression.Number
	case "boolean":
		return expression.Bool
	case "string":
		return expression.Text
	default:
		return expression.Unknown
	}
}

// untyped says which parameters expressions cannot use, and why; "" when they can use all.
func (p *Params) untyped() string {
	var names []string
	for _, name := range p.names {
		if _, ok := p.Types[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "expressions cannot use " + quoted(names) + ": give each one type, and make it required or give it a default"
}

func publicSchema(source map[string]any, moves bool) (json.RawMessage, error) {
	public, _ := strip(source).(map[string]any)
	if moves {
		properties := map[string]any{}
		if own, ok := public["properties"].(map[string]any); ok {
			maps.Copy(properties, own)
		}
		properties[ArgRequestID] = map[string]any{"type": "string", "minLength": 1, "maxLength": 128,
			"description": "Your own id of this request. The same id within 24 h returns the recorded outcome and sends nothing again."}
		properties[ArgDryRun] = map[string]any{"type": "boolean", "description": "true: check every gate and show the frames, send nothing."}
		public["properties"] = properties
	}
	return json.Marshal(public)
}

// strip copies a schema without x- keys; a unit goes into the description.
func strip(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range x {
			if !strings.HasPrefix(key, "x-") {
				out[key] = strip(value)
			}
		}
		if unit, ok := x["x-unit"].(string); ok {
			text, _ := x["description"].(string)
			out["description"] = strings.TrimSpace(text + " (unit: " + unit + ")")
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = strip(item)
		}
		return out
	default:
		return v
	}
}
