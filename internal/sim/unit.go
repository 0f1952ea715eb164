package sim

import (
	"math"

	"capd/internal/sim/modbusd"
)

// Unit ids of the plant.
const (
	unitPLC    = 1
	unitVFD    = 11
	unitMeter  = 21
	unitRelays = 31
)

// Tags: the names of the plant's registers, as counters and events use them.
const (
	tagHeartbeat     = "heartbeat"
	tagMode          = "mode"
	tagStatus        = "status"
	tagLevel         = "level"
	tagFlow          = "flow"
	tagPressure      = "discharge_pressure"
	tagFCVPosition   = "fcv_position"
	tagEcho          = "cmd_echo"
	tagZSO           = "xv_zso"
	tagZSC           = "xv_zsc"
	tagLSH           = "lsh"
	tagP02Aux        = "p02_aux"
	tagXV            = "xv_cmd"
	tagP02           = "p02_cmd"
	tagFCVSetpoint   = "fcv_setpoint"
	tagLevelSetpoint = "level_setpoint"
	tagToken         = "cmd_token"
	tagWatchdog      = "watchdog"

	tagVFDControl = "vfd_control"
	tagVFDSpeed   = "vfd_speed"
	tagVFDStatus  = "vfd_status"
	tagVFDOutput  = "vfd_output"
	tagVFDCurrent = "vfd_current"
	tagVFDFault   = "vfd_fault"

	tagKW  = "kw"
	tagKWh = "kwh"
	tagV   = "v"

	tagBeacon        = "beacon"
	tagSiren         = "siren"
	tagBeaconCurrent = "beacon_current"
	tagSirenCurrent  = "siren_current"
)

// register is one named place in a unit's memory: words bits or registers from a zero-based address on.
type register struct {
	tag     string
	table   modbusd.Table
	address int
	words   int
}

// unit is the memory of one device on the wire. Addresses that no register names do not exist. The plant's mutex guards it.
type unit struct {
	id      byte
	objects []string
	places  map[string]register
	words   [4][]uint16 // by table
	tags    [4][]string // by table; "" is a hole
	block   int         // bit reads only from 0 and of this many at once; 0 is any
	refuse  func(tag string, value uint16) bool
	writes  []WriteEvent // executed and not yet taken by the plant
}

// newUnit lays out a memory of zeros. Vendor, product code and revision are what function 43/14 answers.
func newUnit(id byte, product string, registers []register) *unit {
	u := &unit{id: id, objects: []string{"capd demo plant", product, "1.0"}, places: map[string]register{}}
	for _, r := range registers {
		u.places[r.tag] = r
		for len(u.words[r.table]) < r.address+r.words {
			u.words[r.table] = append(u.words[r.table], 0)
			u.tags[r.table] = append(u.tags[r.table], "")
		}
		for i := range r.words {
			u.tags[r.table][r.address+i] = r.tag
		}
	}
	return u
}

// set stores a register's words as the device itself does.
func (u *unit) set(tag string, words ...uint16) {
	r := u.places[tag]
	copy(u.words[r.table][r.address:r.address+r.words], words)
}

// get returns a register's first word.
func (u *unit) get(tag string) uint16 {
	r := u.places[tag]
	return u.words[r.table][r.address]
}

// float returns a register of two words, a float32 with the low word first.
func (u *unit) float(tag string) float64 {
	r := u.places[tag]
	w := u.words[r.table][r.address:]
	return float64(math.Float32frombits(uint32(w[1])<<16 | uint32(w[0])))
}

// Read implements [modbusd.Memory].
func (u *unit) Read(table modbusd.Table, address uint16, count int) ([]uint16, error) {
	if u.block > 0 && table <= modbusd.DiscreteInput && (address != 0 || count != u.block) {
		return nil, modbusd.IllegalAddress
	}
	if err := u.exists(table, int(address), count); err != nil {
		return nil, err
	}
	return append([]uint16(nil), u.words[table][address:int(address)+count]...), nil
}

// Write implements [modbusd.Memory]. It records one event for each register touched.
func (u *unit) Write(table modbusd.Table, address uint16, values []uint16) error {
	at := int(address)
	if err := u.exists(table, at, len(values)); err != nil {
		return err
	}
	tags := u.tags[table][at : at+len(values)]
	for i, v := range values {
		if u.refuse != nil && u.refuse(tags[i], v) {
			return modbusd.IllegalValue
		}
	}
	old := append([]uint16(nil), u.words[table][at:at+len(values)]...)
	copy(u.words[table][at:], values)
	for i := 0; i < len(values); {
		end := i + 1
		for end < len(values) && tags[end] == tags[i] {
			end++
		}
		u.writes = append(u.writes, WriteEvent{
			Tag: tags[i], Unit: u.id, Table: table, Address: address + uint16(i),
			Values: append([]uint16(nil), values[i:end]...), old: old[i],
		})
		i = end
	}
	return nil
}

// Objects implements [modbusd.Memory].
func (u *unit) Objects() []string { return u.objects }

func (u *unit) exists(table modbusd.Table, at, count int) error {
	if at+count > len(u.tags[table]) {
		return modbusd.IllegalAddress
	}
	for _, tag := range u.tags[table][at : at+count] {
		if tag == "" {
			return modbusd.IllegalAddress
		}
	}
	return nil
}

func newPLCUnit() *unit {
	return newUnit(unitPLC, "PS07-PLC-01", []register{
		{tagHeartbeat, modbusd.InputRegister, 0, 1},
		{tagMode, modbusd.InputRegister, 1, 1},
		{tagStatus, modbusd.InputRegister, 2, 1},
		{tagLevel, modbusd.InputRegister, 10, 2},
		{tagFlow, modbusd.InputRegister, 12, 1},
		{tagPressure, modbusd.InputRegister, 13, 1},
		{tagFCVPosition, modbusd.InputRegister, 14, 1},
		{tagEcho, modbusd.InputRegister, 20, 1},
		{tagZSO, modbusd.DiscreteInput, 0, 1},
		{tagZSC, modbusd.DiscreteInput, 1, 1},
		{tagLSH, modbusd.DiscreteInput, 2, 1},
		{tagP02Aux, modbusd.DiscreteInput, 3, 1},
		{tagXV, modbusd.Coil, 0, 1},
		{tagP02, modbusd.Coil, 1, 1},
		{tagFCVSetpoint, modbusd.HoldingRegister, 100, 1},
		{tagLevelSetpoint, modbusd.HoldingRegister, 110, 2},
		{tagToken, modbusd.HoldingRegister, 120, 1},
		{tagWatchdog, modbusd.HoldingRegister, 121, 1},
	})
}

func newVFDUnit() *unit {
	u := newUnit(unitVFD, "PS07-P-01 VFD", []register{
		{tagVFDControl, modbusd.HoldingRegister, 0, 1},
		{tagVFDSpeed, modbusd.HoldingRegister, 1, 1},
		{tagVFDStatus, modbusd.InputRegister, 0, 1},
		{tagVFDOutput, modbusd.InputRegister, 1, 1},
		{tagVFDCurrent, modbusd.InputRegister, 2, 1},
		{tagVFDFault, modbusd.InputRegister, 3, 1},
	})
	u.refuse = func(tag string, value uint16) bool {
		if tag == tagVFDSpeed {
			return value > maxSpeed
		}
		return value&controlRun != 0 && value&controlReset != 0
	}
	return u
}

func newMeterUnit() *unit {
	return newUnit(unitMeter, "PS07-PM-08", []register{
		{tagKW, modbusd.InputRegister, 0, 2},
		{tagKWh, modbusd.InputRegister, 2, 2},
		{tagV, modbusd.InputRegister, 4, 2},
	})
}

// newRelayUnit is the cheap relay board: eight channels of which two are wired, reads only as a block of eight.
func newRelayUnit() *unit {
	u := newUnit(unitRelays, "PS07-HA-09", []register{
		{tagBeacon, modbusd.Coil, 0, 1},
		{tagSiren, modbusd.Coil, 1, 1},
		{"spare_relays", modbusd.Coil, 2, 6},
		{tagBeaconCurrent, modbusd.DiscreteInput, 0, 1},
		{tagSirenCurrent, modbusd.DiscreteInput, 1, 1},
		{"spare_inputs", modbusd.DiscreteInput, 2, 6},
	})
	u.block = 8
	return u
}
