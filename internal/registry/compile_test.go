package registry

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/sim/site"
)

// mistakes publishes one contract and gives what is wrong with it, one problem per line, without its folder.
func mistakes(t *testing.T, source string) []string {
	t.Helper()
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/x.yaml", source)
	text, ok := strings.CutPrefix(b.rejected(b.publish())["x.yaml"], "nothing: ")
	if !ok {
		return nil
	}
	return strings.Split(strings.ReplaceAll(text, "contracts.d/", ""), "\n")
}

func TestWhatDoesNotFitThePlantIsReportedAtItsPlace(t *testing.T) {
	const params = `properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}}`
	cases := map[string]struct{ source, want string }{
		"asset":                   {moving("asset: VALVE", "asset: VALE"), `x.yaml:5:1: asset: there is no asset "VALE"; did you mean VALVE?`},
		"point":                   {moving("PUMP.speed", "PUMP.sped"), `x.yaml:6:127: points.speed: there is no point "PUMP.sped"; did you mean PUMP.speed?`},
		"returned alias":          {strings.Replace(reading("x"), "[position]", "[positoin]", 1), `x.yaml:8:9: actions.read.returns: the contract's points do not name "positoin"; did you mean position?`},
		"returned and unreadable": {strings.Replace(reading("x"), "[position]", "[secret]", 1), `x.yaml:8:9: actions.read.returns: VALVE.secret cannot be read; leave it out`},
		"written alias":           {moving("write: setpoint", "write: setpiont"), `x.yaml:14:15: actions.move.execute: the contract's points do not name "setpiont"; did you mean setpoint?`},
		"written and read only":   {moving("write: setpoint, value: opening", "write: open, value: true"), `x.yaml:14:15: actions.move.execute.open: VALVE.open is read only; set access: read_write in the inventory if it may be written`},
		"value of another type":   {moving("value: opening", "value: true"), `x.yaml:14:15: actions.move.execute.setpoint: true is a boolean, but a number is needed`},
		"value unknown":           {moving("value: opening", "value: openning"), `x.yaml:14:15: actions.move.execute.setpoint: expression "openning": column 1: unknown name "openning"; did you mean opening?`},
		"wait misspelt":           {moving("[{write: setpoint, value: opening}]", "[{write: setpoint, value: opening}, {wait: {when: positon > 5, within: 1s}}, {write: setpoint, value: opening}]"), `x.yaml:14:50: actions.move.execute: `},
		"wait for no point":       {moving("[{write: setpoint, value: opening}]", "[{write: setpoint, value: opening}, {wait: {when: opening > 5, within: 1s}}, {write: setpoint, value: opening}]"), `x.yaml:14:50: actions.move.execute: the wait looks at no point; name at least one point in when`},
		"release misspelt":        {moving("[{write: setpoint, value: opening}]", "[{pulse: {point: setpoint, value: opening, for: 1s, release: openning}}]"), `x.yaml:14:15: actions.move.execute.setpoint: expression "openning": column 1: unknown name "openning"; did you mean opening?`},
		"pulsed under two names":  {moving("setpoint: VALVE.setpoint", "setpoint: VALVE.setpoint, same: VALVE.setpoint", "[{write: setpoint, value: opening}]", "[{pulse: {point: setpoint, value: opening, for: 1s, release: 0}}, {write: same, value: opening}]"), `x.yaml:9:5: actions.move.execute.setpoint: VALVE.setpoint is written as "same" besides; a pulse or a token needs its point for itself; write it once`},
		"release out of range":    {moving("[{write: setpoint, value: opening}]", "[{pulse: {point: setpoint, value: opening, for: 1s, release: 300}}]"), `x.yaml:14:15: actions.move.execute.setpoint: `},
		"value optional":          {moving("required: [opening], ", ""), `x.yaml:14:15: actions.move.execute.setpoint: `},
		"value of a point":        {moving("value: opening", "value: position"), `x.yaml:14:15: actions.move.execute.setpoint: the value depends on the point "position"; a written value may depend on parameters alone`},
		"permit misspelt":         {moving("mode ==", "mod =="), `x.yaml:13:15: actions.move.permits.remote: `},
		"permit of no point":      {moving(`mode == "remote"`, "opening > 5"), `x.yaml:13:15: actions.move.permits.remote: the permit looks at no point; name at least one point in when`},
		"level out of reach":      {moving("min_level: E4", "min_level: E5"), `x.yaml:15:13: actions.move.verify: min_level E5 cannot be reached: the witnesses named reach E4; add a witness or lower min_level`},
		"witness of another":      {moving("point: position, near: opening", "point: speed, near: 5"), `x.yaml:15:13: actions.move.verify: expect speed: PUMP.speed is a point of another asset and declares no witness_for this one, so it proves nothing`},
		"parameter and point":     {moving(params, `properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}, speed: {type: string, description: S}}`), `x.yaml:9:5: actions.move: "speed" is both a parameter and a point; rename one of them`},
		"not a schema":            {moving("type: number", "type: numbr"), `x.yaml:11:17: actions.move.parameters: not a valid JSON Schema: `},
		"schema of a list":        {moving("parameters: {type: object", "parameters: {type: array"), `x.yaml:11:18: actions.move.parameters: the parameters' schema must have type: object; write type: object`},
		"schema that is none":     {moving("parameters: {type: object, additionalProperties: false, required: [opening], "+params+"}", "parameters: [opening]", "value: opening", "value: 5", "near: opening", "near: 5"), `x.yaml:11:17: actions.move.parameters: parameters must be a JSON Schema object`},
		"schema that takes all":   {moving("additionalProperties: false, ", ""), `x.yaml:11:17: actions.move.parameters: the parameters' schema must refuse unknown arguments; write additionalProperties: false`},
		"schema elsewhere":        {moving(params, params[:len(params)-1]+", other: {$ref: 'file:///etc/passwd'}}"), `x.yaml:11:17: actions.move.parameters: not a valid JSON Schema: `},
		"parameter reserved":      {moving(params, params[:len(params)-1]+", dry_run: {type: boolean, description: D}}"), `x.yaml:11:181: actions.move.parameters.properties.dry_run: "dry_run" is reserved: every actuation takes it already; choose another name`},
		"parameter hidden":        {moving(params, params[:len(params)-1]+", x-speed: {type: boolean, description: D}}"), `x.yaml:11:181: actions.move.parameters.properties.x-speed: a parameter "x-speed" would be hidden from agents`},
		"required and undeclared": {moving("required: [opening]", "required: [opening, openning]"), `x.yaml:11:61: actions.move.parameters: the required parameter "openning" is not among the properties; did you mean opening?`},
		"default out of range":    {moving("minimum: 0", "default: 120, minimum: 0"), `x.yaml:11:95: actions.move.parameters.properties.opening: the default 120 of "opening" is refused by its own schema; correct the default or the limits`},
		"number out of reach":     {moving("maximum: 100", "maximum: 1e999"), `x.yaml:11:17: actions.move.parameters: the number 1e999 is beyond what can be computed; write a number of the plant`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := mistakes(t, c.source)
			if len(got) == 0 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), c.want)
			}
		})
	}
}

func TestAnOptionalParameterInAnExpressionSaysHowToMakeItUsable(t *testing.T) {
	got := strings.Join(mistakes(t, moving("required: [opening], ", "")), "\n")
	if want := `expressions cannot use "opening": give each one type, and make it required or give it a default`; !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestASetpointIsWrittenAndNothingElse(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", strings.Replace(plant, "position: {at: {n: 20}, unit: \"%\", role: feedback}", "position: {at: {n: 20}, unit: \"%\", role: feedback, access: read_write, envelope: {min: 0, max: 100}}", 1),
		"contracts.d/x.yaml", moving("write: setpoint", "write: position"))
	b.expect("", "x.yaml: nothing: contracts.d/x.yaml:14:15: actions.move.execute.position: VALVE.position has role feedback; only points with role setpoint are written")
}

func TestWhatWithdrawMayWriteIsWrittenToo(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/x.yaml", moving()+"    on_fail: withdraw\n    withdraw: [{write: run, value: false}]\n")
	if got := names(b.expect("valve_move").Action("valve_move").Writes); got != "PUMP VALVE" {
		t.Errorf("assets written: %s", got)
	}
}

func TestARelativeProofIsNotAbsolute(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/x.yaml", moving("near: opening, tolerance: 1", "increases: true"))
	if b.expect("valve_move").Action("valve_move").Absolute {
		t.Error("an action that moves on from where it is counts as repeatable")
	}
}

// The demo station, with the driver that it runs on, has nothing to complain about.
func TestTheDemoStationIsInForceAsItIsWritten(t *testing.T) {
	b := newBox(t)
	_, err := site.Write(b.dir, site.Params{Modbus: "127.0.0.1:502", Serial: "/dev/ttyS1", Listen: "127.0.0.1:0", State: "state", Run: "run", Speed: 1})
	must(t, err)
	b.drivers = []hal.Driver{modbus.New()}
	s := b.publish()
	for _, r := range s.Rejected {
		t.Errorf("rejected: %v", r.Problems)
	}
	for _, p := range s.Warnings {
		t.Errorf("warning: %v (%s)", p, p.Rule)
	}
	if len(s.Actions) < 10 || len(s.Profiles) == 0 {
		t.Errorf("%d actions, %d profiles", len(s.Actions), len(s.Profiles))
	}
}

// What the documentation shows works as it stands there.
func TestTheExamplesOfTheDocumentationAreInForceTogether(t *testing.T) {
	read := func(path string) File {
		f := readFile(path, KindContract)
		must(t, f.Err)
		return f
	}
	b := newBox(t)
	inventory := strings.Replace(string(read(filepath.Join("..", "inventory", "testdata", "valve.yaml")).Source), "modbus_rtu, port: /dev/ttyS1, baud: 19200, parity: even, stop_bits: 1", `modbus_tcp, endpoint: "10.1.2.4:502"`, 1)
	b.write("assets.d/valve.yaml", inventory, "contracts.d/valve.yaml", string(read(filepath.Join("..", "contract", "testdata", "valve.yaml")).Source))
	b.drivers = []hal.Driver{modbus.New()}
	if s := b.expect("ps07_fcv_04_read_opening ps07_fcv_04_set_opening"); len(s.Warnings) > 0 {
		t.Errorf("warnings: %v", s.Warnings)
	}
}

func TestProblemsOfAFileComeInItsOrder(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/x.yaml", moving("write: setpoint", "write: nothing", "mode ==", "mod ==", "PUMP.speed", "PUMP.s"))
	var last document.Pos
	for _, p := range b.publish().Rejected[0].Problems {
		if p.Pos.Line < last.Line {
			t.Errorf("line %d after %d", p.Pos.Line, last.Line)
		}
		last = p.Pos
	}
}

// A machine that takes a write and does nothing must not be confirmed by its own memory, under whatever name that is read.
func TestWhatLiesInTheWrittenMemoryIsNoWitness(t *testing.T) {
	const plant = `inventory: capd/v1
links: {NET: {transport: modbus_tcp, endpoint: "10.1.2.3:502"}}
devices: {PLC: {link: NET, unit_id: 1}, AGAIN: {link: NET, unit_id: 1}}
assets:
  FAN:
    device: PLC
    points:
      run: {at: {table: holding_register, address: 30, type: uint16}, unit: "1", role: setpoint, access: read_write, envelope: {min: 0, max: 1}}
      runs: {at: WHERE, role: feedback, update: 100ms}
`
	const tool = `contract: capd/v1
tool: fan
version: 1.0.0
title: Fan
asset: FAN
points: {run: FAN.run, runs: FAN.runs}
actions:
  start: {effect: actuate, description: Starts the fan., security: {permissions: [fan:write]}, execute: [{write: run, value: 1}],
    verify: {min_level: E4, within: 5s, expect: [{point: runs, is: WHAT}]}}
`
	for name, c := range map[string]struct {
		where, what string
		echo        bool
	}{
		"another register":              {"{table: holding_register, address: 31, type: uint16}, unit: \"1\"", "1", false},
		"the same number elsewhere":     {"{table: input_register, address: 30, type: uint16}, unit: \"1\"", "1", false},
		"a bit of the register":         {"{table: holding_register, address: 30, type: uint16, bit: 0}", "true", true},
		"the register of another name":  {"{table: holding_register, address: 30, type: uint16}, device: AGAIN, unit: \"1\"", "1", true},
		"a bit of it, and another name": {"{table: holding_register, address: 30, type: uint16, bit: 0}, device: AGAIN", "true", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.drivers = []hal.Driver{modbus.New()}
			b.write("assets.d/plant.yaml", strings.Replace(plant, "WHERE", c.where, 1), "contracts.d/x.yaml", strings.Replace(tool, "WHAT", c.what, 1))
			s := b.publish()
			said := fmt.Sprint(s.Rejected)
			if rejected := len(s.Rejected) > 0; rejected != c.echo || rejected && !strings.Contains(said, "FAN.runs only reads back what was written") {
				t.Errorf("rejected %v", said)
			}
		})
	}
}
