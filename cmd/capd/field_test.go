package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/hal/modbus/faultserver"
	"capd/internal/sim"
)

// run executes the command line and gives what it printed.
func runCLI(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String() + stderr.String(), err
}

func demoPlant(t *testing.T) *sim.Plant {
	t.Helper()
	plant, err := sim.Start(t.Context(), sim.Options{Serial: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plant.Close(); err != nil {
			t.Error(err)
		}
	})
	return plant
}

func TestProbeFindsTheUnitsOfAWire(t *testing.T) {
	plant := demoPlant(t)
	out, err := runCLI(t, "probe", plant.ModbusAddr(), "--units", "1-3")
	if err != nil || !strings.Contains(out, "1 of 3 units answer") || !strings.Contains(out, "PS07-PLC-01") {
		t.Errorf("TCP: %v\n%s", err, out)
	}
	out, err = runCLI(t, "probe", plant.SerialPath(), "--units", "11,12,21", "--timeout", "100ms")
	if err != nil || !strings.Contains(out, "2 of 3 units answer") {
		t.Errorf("serial: %v\n%s", err, out)
	}
}

func TestProbeTellsOfUnitsThatSomethingElseAnswersFor(t *testing.T) {
	gateway, err := faultserver.Start("", faultserver.Options{Memory: new(faultserver.Bank).Set(5, faultserver.HoldingRegisters, 0, 7),
		Next: func(r faultserver.Request) faultserver.Fault {
			switch r.Unit {
			case 5:
				return faultserver.None
			case 6:
				return faultserver.WrongUnit
			default:
				return faultserver.GatewayTarget
			}
		}})
	must(t, err)
	t.Cleanup(gateway.Close)
	out, err := runCLI(t, "probe", gateway.Addr(), "--units", "1-20", "--timeout", "200ms")
	if err != nil || !strings.Contains(out, "1 of 20 units answer") || !strings.Contains(flat(out), "unit 1, 2, 3, 4, 7, 8, 9, 10 and 10 more: gateway: exception 11") ||
		!strings.Contains(out, "unit 6: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestProbeSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"probe 127.0.0.1:1 --units 1", "refused"},
		{"probe /dev/does-not-exist --units 1", "does-not-exist"},
		{"probe 127.0.0.1 --units 0-300", "unit ids are 0 to 255"},
		{"probe 127.0.0.1 --units x", "names no units"},
		{"probe /dev/ttyX --parity strange", "parity"},
		{"probe", "needs one endpoint"},
	} {
		if out, err := runCLI(t, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\n%s", c.args, err, out)
		}
	}
}

func TestARegisterListBecomesAnInventoryWithNothingEnabled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(path, []byte("Bezeichnung;Adresse;Datentyp;Faktor;Einheit\nDurchfluss;40013;INT16;0,1;m3/h\nkaputt;abc;INT16;;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runCLI(t, "import", "csv", path, "--link", "PLC-NET", "--device", "PLC", "--asset", "AUX")
	if err != nil || !strings.Contains(out, "address: 12") || !strings.Contains(out, "scale: 0.1") || !strings.Contains(out, "list.csv:3") || strings.Contains(out, "read_write") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := runCLI(t, "import", "csv", path+".none"); err == nil {
		t.Error("a file that is not there was imported")
	}
}

func TestADeviceWithoutSunSpecSaysSo(t *testing.T) {
	plant := demoPlant(t)
	if out, err := runCLI(t, "import", "sunspec", plant.ModbusAddr(), "--unit", "1"); err == nil || !strings.Contains(err.Error(), "SunS") {
		t.Errorf("%v\n%s", err, out)
	}
}
