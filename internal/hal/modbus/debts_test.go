package modbus

import (
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
)

// ask is the question of a read of holding registers.
func ask(unit, quantity byte) question {
	return questionOf(newRTU().encode(unit, []byte{fcReadHoldingRegisters, 0, 5, 0, quantity}))
}

func newDebts(owed ...question) *debts {
	d := &debts{silent: map[byte]int{}}
	for _, q := range owed {
		d.owe(q)
	}
	return d
}

func TestALaterAnswerEndsWhatWasOwedBefore(t *testing.T) {
	d := newDebts(ask(1, 1), ask(1, 2), ask(2, 1))
	if !d.confuse(ask(1, 1)) || d.confuse(ask(1, 3)) || d.confuse(ask(3, 1)) {
		t.Error("what could be confused with what is owed?")
	}
	d.settle(ask(1, 3), false)
	if d.confuse(ask(1, 1)) || d.confuse(ask(1, 2)) || !d.confuse(ask(2, 1)) {
		t.Errorf("owed %+v", d.owed)
	}
}

// A device that answers late and under the wrong function at once must not lend its value to a read of that function.
func TestALateAnswerUnderAnotherFunctionIsNobodysValue(t *testing.T) {
	wrong := func(r faultserver.Request, f []byte) []byte {
		return faultserver.FrameRTU(r.Unit, append([]byte{4}, f[2:len(f)-2]...))
	}
	var late []byte
	c, _ := gateway(t, faultserver.Options{Memory: new(faultserver.Bank).Set(1, 3, 5, 0xBAD).Set(1, 4, 5, 7, 8), Rewrite: func(r faultserver.Request, f []byte) [][]byte {
		if r.PDU[0] == 3 {
			late = wrong(r, f)
			return nil
		}
		out := [][]byte{append(late, f...)}
		late = nil
		return out
	}}, "{unit_id: 1, timeout: 60ms}")
	wantKind(t, read(t, c, at(t, "{table: holding_register, address: 5, type: uint16}"))[0].Err, hal.Timeout)
	wantValue(t, patiently(t, c, at(t, "{table: input_register, address: 5, type: uint16}")), "7")
}

func TestAnExceptionEndsOnlyTheOldestOfItsFunction(t *testing.T) {
	d := newDebts(ask(1, 1), ask(1, 2))
	d.settle(ask(1, 3), true)
	if d.confuse(ask(1, 1)) || !d.confuse(ask(1, 2)) || !d.confuse(ask(1, 3)) {
		t.Errorf("owed %+v", d.owed)
	}
	d = newDebts(questionOf(newRTU().encode(1, []byte{fcWriteSingleRegister, 0, 5, 0, 1})))
	d.settle(ask(1, 3), true) // of another function: it can only belong to the later request
	if len(d.owed) != 0 {
		t.Errorf("owed %+v", d.owed)
	}
}

// The answer to an earlier probe says that what was owed before it will not come, and that the later probe is still owed.
func TestAnEarlierProbesAnswer(t *testing.T) {
	d := newDebts(ask(1, 1), ask(1, 2))
	d.settle(ask(1, 2), false)
	if d.confuse(ask(1, 1)) || !d.confuse(ask(1, 2)) || len(d.owed) != 1 {
		t.Errorf("owed %+v", d.owed)
	}
}

func TestALateAnswerEndsTheWaiting(t *testing.T) {
	d := newDebts(ask(1, 1))
	d.wait(1, time.Now().Add(time.Hour))
	if !d.quarantined(1, time.Now()) || !d.quarantined(2, time.Now()) {
		t.Error("nobody waits")
	}
	if !d.drop(ask(1, 1).alike) || d.quarantined(1, time.Now()) {
		t.Error("still waiting")
	}
	for range 2 {
		d.owe(ask(1, 1))
		d.wait(1, time.Now().Add(time.Hour))
	}
	if !d.quarantined(1, time.Now()) || d.quarantined(2, time.Now()) {
		t.Error("a unit that is taken for dead holds up another")
	}
}

func TestDebtsAreBoundedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDebts()
		for i := range 3 * maxDebts {
			d.owe(ask(1, byte(1+i)))
		}
		if len(d.owed) != maxDebts {
			t.Errorf("%d are owed", len(d.owed))
		}
		<-time.After(2 * time.Second)
		d.owe(ask(2, 1))
		<-time.After(2 * time.Second)
		d.forget(3 * time.Second)
		if len(d.owed) != 1 || d.owed[0].unit != 2 {
			t.Errorf("owed %+v", d.owed)
		}
	})
}

// A probe's answer can never be taken for the one that is owed.
func TestAProbeIsDistinct(t *testing.T) {
	r := newRTU()
	for _, pdu := range [][]byte{
		{1, 0, 0, 0, 1}, {1, 0, 0, 0, 8}, {2, 0xFF, 0xFF, 0, 1}, {3, 0, 0, 0, 1}, {3, 0xFF, 0xFF, 0, 1}, {4, 0, 0, 0, 2}, {4, 0, 0, 0, 125},
		{5, 0, 1, 0xFF, 0}, {6, 0, 1, 0, 7}, {15, 0, 1, 0, 1, 1, 1}, {16, 0, 1, 0, 1, 2, 0, 7}, {22, 0, 1, 0, 1, 0, 2},
		{23, 0, 1, 0, 1, 0, 1, 0, 1, 2, 0, 7}, {43, 14, 2, 0},
	} {
		q := questionOf(r.encode(1, pdu))
		probe := newDebts().distinct(q)
		p := questionOf(r.encode(1, probe))
		if p.alike(q) || p.echo != nil || int(probe[1])<<8|int(probe[2])+int(probe[4]) > 0x10000 {
			t.Errorf("% X is probed by % X", pdu, probe)
		}
	}
}
