package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/outcome"
)

const parameters = `type: object
additionalProperties: false
required: [opening]
properties:
  opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening of the valve}
  speed: {type: integer, exclusiveMinimum: 0, exclusiveMaximum: 10, default: 3, x-unit: "1"}
  mode: {type: string, enum: [slow, fast], default: slow}
  tag: {type: string, pattern: '^[A-Z]{2}$'}
  step: {type: number, multipleOf: 0.5, minimum: 0.000000125, maximum: 1}
  name: {type: string, maxLength: 3}
  window: {type: object, additionalProperties: false, properties: {from: {type: number, minimum: 1}}}
  urgent: {type: boolean}
`

func params(t testing.TB, source string, effect contract.Effect) Params {
	t.Helper()
	n, ps := document.Parse("p.yaml", []byte(source))
	must(t, ps.Err())
	p, ps := compileParams(&contract.Action{ID: "move", Effect: effect, Parameters: n}, nil)
	must(t, ps.Err())
	return p
}

// A number that is rounded on its way to the machine would be confirmed, and not be the one that was asked for.
func TestANumberThatWouldBeRoundedIsRefused(t *testing.T) {
	p := params(t, "type: object\nadditionalProperties: false\nrequired: [n]\nproperties: {n: {type: number, minimum: -1e30, maximum: 1e30}}\n", contract.Actuate)
	for text, nearest := range map[string]string{"9007199254740993": "9007199254740992", "1000000000000000001": "1000000000000000000", "60.000000000000000000001": "60",
		"-0.10000000000000000001": "-0.1", "9007199254740992": "", "0.1": "", "-12345.678": "", "1e22": "", "2.5e-7": "", "0": ""} {
		got, refusal := p.Check(map[string]any{"n": json.Number(text)})
		if want := fmt.Sprintf(`argument "n": the number %s has more digits than can be computed with; the nearest that has not is %s`, text, nearest); nearest != "" {
			if refusal == nil || refusal.Message != want {
				t.Errorf("%s: %v %v", text, got, refusal)
			}
		} else if refusal != nil {
			t.Errorf("%s: %v", text, refusal)
		}
	}
}

func TestEveryWrongArgumentIsRefusedWithTheNextStep(t *testing.T) {
	p := params(t, parameters, contract.Actuate)
	const takes = `"mode", "name", "opening", "speed", "step", "tag", "urgent", "window"`
	for name, c := range map[string]struct{ args, code, want string }{
		"missing":          {`{}`, "INVALID_PARAMETER", `missing argument "opening"; this tool takes ` + takes},
		"misspelt":         {`{"openning": 60}`, "INVALID_PARAMETER", `missing argument "opening"; unknown argument "openning"; did you mean "opening"?`},
		"misspelt besides": {`{"opening": 600, "sped": 1}`, "INVALID_PARAMETER", `unknown argument "sped"; did you mean "speed"?`},
		"unknown":          {`{"opening": 60, "zzz": 1, "yyy": 2}`, "INVALID_PARAMETER", `unknown argument "yyy", "zzz"; this tool takes ` + takes},
		"too high":         {`{"opening": 160}`, "OUT_OF_RANGE", `argument "opening" = 160 is above the maximum 100 %`},
		"too low":          {`{"opening": -0.5}`, "OUT_OF_RANGE", `argument "opening" = -0.5 is below the minimum 0 %`},
		"not above":        {`{"opening": 1, "speed": 0}`, "OUT_OF_RANGE", `argument "speed" = 0 is not above 0`},
		"not below":        {`{"opening": 1, "speed": 10}`, "OUT_OF_RANGE", `argument "speed" = 10 is not below 10`},
		"a tiny limit":     {`{"opening": 1, "step": 0}`, "OUT_OF_RANGE", `argument "step" = 0 is below the minimum 0.000000125`},
		"text":             {`{"opening": "60"}`, "INVALID_PARAMETER", `argument "opening" is a string, but a number is needed; got "60"`},
		"null":             {`{"opening": null}`, "INVALID_PARAMETER", `argument "opening" is null, but a number is needed; got null`},
		"no integer":       {`{"opening": 1, "speed": 2.5}`, "INVALID_PARAMETER", `argument "speed" is a number, but an integer is needed; got 2.5`},
		"not listed":       {`{"opening": 1, "mode": "sloow"}`, "INVALID_PARAMETER", `argument "mode" cannot be "sloow"; use one of ["slow","fast"]`},
		"pattern":          {`{"opening": 1, "tag": "x"}`, "INVALID_PARAMETER", `argument "tag" = "x" does not match the pattern ^[A-Z]{2}$`},
		"no multiple":      {`{"opening": 1, "step": 0.7}`, "INVALID_PARAMETER", `argument "step" = 0.7 is no multiple of 0.5`},
		"another keyword":  {`{"opening": 1, "name": "long"}`, "INVALID_PARAMETER", `argument "name" = "long" does not satisfy "maxLength" of its schema`},
		"unknown inside":   {`{"opening": 1, "window": {"form": 1}}`, "INVALID_PARAMETER", `unknown argument "window.form"; this tool takes ` + takes},
		"inside":           {`{"opening": 1, "window": {"from": 0}}`, "OUT_OF_RANGE", `argument "window.from" = 0 is below the minimum 1`},
		"beyond computing": {`{"opening": 1e9999999}`, "INVALID_PARAMETER", `argument "opening": the number 1e9999999 is beyond what can be computed`},
		"beyond, inside":   {`{"opening": 1, "window": {"a": [1, {"b": -1e999999999}]}}`, "INVALID_PARAMETER", `argument "window": the number -1e999999999 is beyond`},
		"long values":      {`{"opening": "` + strings.Repeat("液", 60) + `"}`, "INVALID_PARAMETER", `argument "opening" is a string, but a number is needed; got "液`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, exact := range []bool{true, false} {
				if !exact && strings.Contains(c.args, "e9") {
					continue // the decoder of floats refuses it before
				}
				values, r := p.Check(arguments(t, c.args, exact))
				if r == nil || values != nil || string(r.Code) != c.code || !strings.HasPrefix(r.Message, c.want) || r.Next == "" || !r.RetrySafe {
					t.Errorf("got  %+v\nwant %s %s", r, c.code, c.want)
				}
				if r != nil && (len(r.Message) > 250 || strings.Contains(r.Message, "capd://") || strings.Contains(r.Message, "file:")) {
					t.Errorf("message is %q", r.Message)
				}
			}
		})
	}
}

// arguments decodes JSON as a door does: with exact numbers, or with floats.
func arguments(t testing.TB, source string, exact bool) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(source))
	if exact {
		d.UseNumber()
	}
	var args map[string]any
	must(t, d.Decode(&args))
	return args
}

func TestARefusalOfARangeNamesWhatIsAllowed(t *testing.T) {
	p := params(t, parameters, contract.Actuate)
	_, r := p.Check(map[string]any{"opening": 160})
	if r.Allowed == nil || r.Allowed.Low.String() != "0" || r.Allowed.High.String() != "100" || r.Next != "ask for 0 to 100 %" || r.Layer != outcome.LayerCapability {
		t.Errorf("%+v", r)
	}
	if _, r := p.Check(map[string]any{"opening": 1, "speed": 12}); r.Allowed != nil {
		t.Errorf("an open end shows as allowed: %+v", r)
	}
}

func TestGoodArgumentsGetTheirDefaults(t *testing.T) {
	p := params(t, parameters, contract.Actuate)
	args := map[string]any{"opening": json.Number("60.50"), "urgent": true}
	values, r := p.Check(args)
	if r != nil {
		t.Fatal(r)
	}
	if want := map[string]any{"opening": 60.5, "speed": 3.0, "mode": "slow"}; !maps.Equal(values, want) {
		t.Errorf("got %v, want %v", values, want)
	}
	if len(args) != 2 {
		t.Errorf("the caller's arguments were changed: %v", args)
	}
	p = params(t, "{type: object, additionalProperties: false}", contract.Read)
	if none, r := p.Check(nil); r != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, r)
	}
}

func TestAgentsSeeUnitsAndReservedArgumentsAndNoPrivateKeys(t *testing.T) {
	p := params(t, parameters, contract.Actuate)
	public := string(p.Public)
	for _, want := range []string{"Opening of the valve (unit: %)", `"request_id"`, `"dry_run"`, `"required":["opening"]`} {
		if !strings.Contains(public, want) {
			t.Errorf("%s is missing in %s", want, public)
		}
	}
	if strings.Contains(public, "x-unit") {
		t.Errorf("private keys show: %s", public)
	}
	if read := string(params(t, parameters, contract.Read).Public); strings.Contains(read, "dry_run") {
		t.Errorf("a read takes dry_run: %s", read)
	}
	a, ps := compileParams(&contract.Action{ID: "stop", Effect: contract.Actuate}, nil)
	if ps.Err() != nil || !strings.Contains(string(a.Public), "dry_run") {
		t.Errorf("an action without parameters: %v, %s", ps, a.Public)
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"opening": 60}`, `{"opening": 1e400, "window": {"from": []}}`, `{"x": [1, {"y": 1e-9999}]}`, `{"step": 1e6, "name": "液"}`} {
		f.Add(seed)
	}
	p := params(f, parameters, contract.Actuate)
	f.Fuzz(func(t *testing.T, source string) {
		d := json.NewDecoder(strings.NewReader(source))
		d.UseNumber()
		var args map[string]any
		if d.Decode(&args) != nil {
			return
		}
		values, r := p.Check(args)
		if r != nil && (r.Message == "" || r.Next == "") || r == nil && values["opening"] == nil {
			t.Errorf("%v, %+v", values, r)
		}
	})
}
