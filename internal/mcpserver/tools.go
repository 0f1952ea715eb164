package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"capd/internal/contract"
	"capd/internal/registry"
)

// outputs are the schemas of the answers that actions give; every tool of a kind shares one.
type outputs struct{ read, actuation json.RawMessage }

func newOutputs() outputs {
	return outputs{rawSchema(readAnswerSchema()), rawSchema(actuationAnswerSchema())}
}

// toolOf is an action as tools/list shows it.
func (o outputs) toolOf(a *registry.Action) mcp.Tool {
	t := mcp.Tool{Name: a.Name, Title: titleOf(a), Description: describe(a), RawInputSchema: a.Params.Public, RawOutputSchema: o.read,
		Annotations: mcp.ToolAnnotation{ReadOnlyHint: new(!a.Moves()), OpenWorldHint: new(a.Moves())}}
	if a.Moves() {
		t.RawOutputSchema = o.actuation
		t.Annotations.DestructiveHint = new(a.Risk == contract.High || a.Risk == contract.Critical)
		t.Annotations.IdempotentHint = new(a.Absolute)
	}
	return t
}

func titleOf(a *registry.Action) string {
	return cmp.Or(a.Title, strings.TrimPrefix(a.Contract.Title+": "+strings.ReplaceAll(a.ID, "_", " "), ": "))
}

// describe is the contract's own description, then asset, effect and risk in a few words.
func describe(a *registry.Action) string {
	text := a.Description
	if text != "" {
		text += " "
	}
	text += "Asset " + a.Contract.Asset
	if a.ToSafe {
		text += "; leads to the safe side"
	}
	switch {
	case !a.Moves():
		return text + "; reads only."
	case a.Risk == contract.Critical:
		return text + "; critical: a technician must arm it at the box for each use."
	case a.Effect == contract.Configure:
		return text + fmt.Sprintf("; changes settings, %s risk; the answer says what was measured.", a.Risk)
	default:
		return text + fmt.Sprintf("; moves the machine, %s risk; the answer says what was measured.", a.Risk)
	}
}

// object is a JSON Schema object in the making.
type object = map[string]any

func typed(t string) object { return object{"type": t} }

func oneOf(values ...string) object { return object{"type": "string", "enum": values} }

func told(t, description string) object { return object{"type": t, "description": description} }

func schemaOf(required []string, properties object) object {
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// rawSchema is a schema as lists carry it. The schemas are literals of this package, so that they can always be written.
func rawSchema(s object) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return raw
}

func levels() object { return oneOf("E0", "E1", "E2", "E3", "E4", "E5") }

func readingSchema(more object, required ...string) object {
	properties := object{"point": typed("string"), "value": object{}, "unit": typed("string"), "quality": oneOf("good", "uncertain", "bad"),
		"cause": typed("string"), "at": typed("string"), "age_ms": typed("integer")}
	for name, schema := range more {
		properties[name] = schema
	}
	return schemaOf(append([]string{"point", "value", "quality", "at", "age_ms"}, required...), properties)
}

// reasonSchema is why a call did not simply succeed.
func reasonSchema() object {
	return schemaOf([]string{"code", "layer", "message", "retry_safe"}, object{
		"code":       told("string", "such as OUT_OF_RANGE, LOCKED_OUT, VERIFY_MISMATCH"),
		"layer":      oneOf("", "capability", "policy", "execution", "verification", "device"),
		"message":    typed("string"),
		"next":       told("string", "what to do"),
		"retry_safe": told("boolean", "true: the call may be repeated as it is"),
		"allowed":    object{"type": "array", "items": typed("number"), "minItems": 2, "maxItems": 2, "description": "lowest and highest value allowed now"},
		"after":      told("string", "when it may be tried again"),
	})
}

func answerSchema(verdicts []string, more object) object {
	properties := object{
		"verdict":          oneOf(verdicts...),
		"level":            levels(),
		"sent":             typed("boolean"),
		"command_standing": told("boolean", "true: the command still stands in the machine"),
		"invocation":       told("string", "for explain"),
		"action":           typed("string"),
		"asset":            typed("string"),
		"summary":          typed("string"),
		"reason":           reasonSchema(),
		"timings":          typed("object"),
	}
	for name, schema := range more {
		properties[name] = schema
	}
	return schemaOf([]string{"verdict", "sent", "command_standing", "invocation", "action", "summary"}, properties)
}

// readAnswerSchema is the answer to a read, its refusal included.
func readAnswerSchema() object {
	return answerSchema([]string{"observed", "unknown", "not_executed"}, object{
		"values": object{"type": "object", "additionalProperties": readingSchema(nil)}})
}

// actuationAnswerSchema is the answer to an actuation, with everything that may become of one.
func actuationAnswerSchema() object {
	return answerSchema([]string{"confirmed", "refuted", "unknown", "not_executed", "pending"}, object{
		"level":         object{"type": "string", "enum": levels()["enum"], "description": "E1 acknowledged, E2 setpoint reads back, E3 status agrees, E4 sensor agrees, E5 effect seen"},
		"refuted_at":    levels(),
		"evidence":      object{"type": "array", "items": readingSchema(object{"phase": typed("string"), "expected": typed("string"), "ok": typed("boolean"), "level": levels()}, "phase")},
		"true_until":    typed("string"),
		"dry_run":       schemaOf(nil, object{"gates": object{"type": "array", "items": typed("string")}, "frames": object{"type": "array", "items": typed("string")}}),
		"amendments":    object{"type": "array", "items": typed("object")},
		"already_there": typed("boolean"),
		"armed_by":      told("string", "the technician whose consent was used up"),
	})
}
