package modbus

import (
	"testing"
	"time"

	"capd/internal/physical"
	"capd/internal/sim"
)

func TestPlantOnASerialLine(t *testing.T) {
	p, err := sim.Start(t.Context(), sim.Options{Serial: true, Baud: 19200})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := openRTU(t, "{port: "+p.SerialPath()+", baud: 19200, parity: even, timeout: 300ms}", "{unit_id: 11}", "{unit_id: 21}", "{unit_id: 31}", "{unit_id: 99}", "{unit_id: 0}")
	start := time.Now()
	for range 5 {
		t.Log(read(t, c, at(t, "{table: holding_register, address: 1, type: uint16}")))
	}
	t.Log(time.Since(start))
	t.Log(readOf(t, c, "B", at(t, "{table: input_register, address: 0, type: float32, byte_order: ABCD}")))
	t.Log(readOf(t, c, "C", at(t, "{table: coil, address: 0}")))
	for range 2 {
		start = time.Now()
		t.Log(readOf(t, c, "D", at(t, "{table: coil, address: 0}"))[0].Err, time.Since(start))
		start = time.Now()
		t.Log(read(t, c, at(t, "{table: holding_register, address: 1, type: uint16}"))[0].Value, time.Since(start))
	}
	t.Log(c.Write(t.Context(), "A", at(t, "{table: holding_register, address: 1, type: uint16}"), physical.IntOf(1234)))
	t.Log(read(t, c, at(t, "{table: holding_register, address: 1, type: uint16}"))[0].Value)
	start = time.Now()
	t.Log(c.Write(t.Context(), "E", at(t, "{table: holding_register, address: 1, type: uint16}"), physical.IntOf(1235)))
	t.Log(time.Since(start))
	t.Log(read(t, c, at(t, "{table: holding_register, address: 1, type: uint16}"))[0].Value)
	p.Close()
	t.Log(read(t, c, at(t, "{table: holding_register, address: 1, type: uint16}"))[0].Err)
	t.Log(read(t, c, at(t, "{table: holding_register, address: 1, type: uint16}"))[0].Err)
}
