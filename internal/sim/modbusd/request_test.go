package modbusd

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// exchanges are requests and replies composed by hand from the application protocol 1.1b3, section 6, against a fresh ram.
var exchanges = []struct{ name, request, reply string }{
	{"1 three coils are three bits", "01 0000 0003", "01 01 02"},
	{"1 nine coils are two bytes", "01 0000 0009", "01 02 AA 00"},
	{"2 discrete inputs", "02 0000 0008", "02 01 55"},
	{"3 holding registers", "03 0001 0002", "03 04 2001 2002"},
	{"4 input registers", "04 000A 0001", "04 02 100A"},
	{"5 coil on", "05 0002 FF00", "05 0002 FF00"},
	{"5 coil off", "05 0003 0000", "05 0003 0000"},
	{"6 register", "06 0001 BEEF", "06 0001 BEEF"},
	{"15 ten coils", "0F 000A 0005 01 1F", "0F 000A 0005"},
	{"16 two registers", "10 0001 0002 04 000A 0102", "10 0001 0002"},
	{"22 mask", "16 0004 00F2 0025", "16 0004 00F2 0025"},
	{"23 writes before it reads", "17 0003 0002 0004 0001 02 ABCD", "17 04 2003 ABCD"},
	{"43 basic", "2B 0E 01 00", "2B 0E 01 82 00 00 03 00 04 63617064 01 03 72616D 02 03 312E30"},
	{"43 one object", "2B 0E 04 01", "2B 0E 04 82 00 00 01 01 03 72616D"},
	{"43 unknown object restarts the stream", "2B 0E 01 77", "2B 0E 01 82 00 00 03 00 04 63617064 01 03 72616D 02 03 312E30"},

	{"unknown function", "07", "87 01"},
	{"function with the exception bit", "83 0000 0001", "83 01"},
	{"43 other interface", "2B 0D 00 00", "AB 01"},
	{"43 no interface", "2B", "AB 01"},
	{"43 bad access", "2B 0E 05 00", "AB 03"},
	{"43 missing object", "2B 0E 04 09", "AB 02"},
	{"no quantity", "03 0000 0000", "83 03"},
	{"126 registers", "03 0000 007E", "83 03"},
	{"2001 coils", "01 0000 07D1", "81 03"},
	{"quantity cut off", "03 0000 00", "83 03"},
	{"byte too many", "03 0000 0001 00", "83 03"},
	{"coil neither on nor off", "05 0000 0001", "85 03"},
	{"byte count against quantity", "10 0001 0002 02 000A", "90 03"},
	{"bytes behind the byte count", "10 0000 0001 02 1234 AABB", "90 03"},
	{"124 registers", "10 0000 007C F8", "90 03"},
	{"coils without data", "0F 0000 0001 01", "8F 03"},
	{"mask cut off", "16 0004 00F2", "96 03"},
	{"read/write without data", "17 0000 0001 0000 0001 02", "97 03"},
	{"hole in the map", "03 0008 0002", "83 02"},
	{"end of the map", "04 000F 0002", "84 02"},
	{"beyond the last address", "03 FFFF 0002", "83 02"},
	{"write into a hole", "06 0009 0001", "86 02"},
	{"write beyond the last address", "10 FFFF 0002 04 0000 0000", "90 02"},
	{"mask a hole", "16 0009 0000 0000", "96 02"},
	{"device cannot", "06 0008 0001", "86 04"},
}

func TestRequestsGetTheReplyTheSpecificationSays(t *testing.T) {
	for _, x := range exchanges {
		t.Run(x.name, func(t *testing.T) {
			got := device{newRAM()}.Serve(t.Context(), 1, raw(t, x.request))
			if want := raw(t, x.reply); !bytes.Equal(got, want) {
				t.Errorf("request %s\n got % X\nwant % X", x.request, got, want)
			}
		})
	}
}

func TestWritesStoreWhatTheySay(t *testing.T) {
	d := device{newRAM()}
	for _, request := range []string{"05 0002 FF00", "0F 000A 0005 01 1B", "10 0001 0002 04 000A 0102", "16 0004 00F2 0025"} {
		d.Serve(t.Context(), 1, raw(t, request))
	}
	coils, words := d.ram.words[Coil], d.ram.words[HoldingRegister]
	if coils[2] != 1 || [5]uint16(coils[10:15]) != [5]uint16{1, 1, 0, 1, 1} || coils[15] != 1 {
		t.Errorf("coils %v", coils)
	}
	if want := uint16(0x2004&0x00F2 | 0x0025&^0x00F2); words[1] != 0x000A || words[2] != 0x0102 || words[4] != want {
		t.Errorf("registers %04X", words)
	}
}

func TestRefusedReadWriteChangesNothing(t *testing.T) {
	d := device{newRAM()}
	before := d.ram.words
	reply := d.Serve(t.Context(), 1, raw(t, "17 0009 0001 0004 0001 02 ABCD"))
	if !bytes.Equal(reply, []byte{0x97, 2}) || d.ram.words != before {
		t.Errorf("reply % X, memory changed: %v", reply, d.ram.words != before)
	}
}

func TestLongIdentificationGoesOnInAnotherReply(t *testing.T) {
	long := string(bytes.Repeat([]byte("x"), 150))
	reply, err := deviceID([]string{long, long, "3"}, Request{DeviceIDCode: 1})
	if err != nil || reply[4] != 0xFF || reply[5] != 1 || reply[6] != 1 || len(reply) > maxPDU {
		t.Fatalf("first part % X, %v", reply[:7], err)
	}
	reply, err = deviceID([]string{long, long, "3"}, Request{DeviceIDCode: 1, ObjectID: reply[5]})
	if err != nil || reply[4] != 0 || reply[6] != 2 {
		t.Fatalf("second part % X, %v", reply[:7], err)
	}
}

// encode composes the only PDU that can have been decoded to r.
func encode(r Request) []byte {
	be := binary.BigEndian
	pdu := []byte{r.Function}
	if r.Count > 0 {
		pdu = be.AppendUint16(be.AppendUint16(pdu, r.Address), uint16(r.Count))
	}
	switch r.Function {
	case WriteSingleCoil:
		return be.AppendUint16(be.AppendUint16(pdu, r.WriteAddress), r.Values[0]*0xFF00)
	case WriteSingleRegister:
		return be.AppendUint16(be.AppendUint16(pdu, r.WriteAddress), r.Values[0])
	case MaskWriteRegister:
		return be.AppendUint16(be.AppendUint16(be.AppendUint16(pdu, r.WriteAddress), r.And), r.Or)
	case EncapsulatedInterface:
		return append(pdu, 14, r.DeviceIDCode, r.ObjectID)
	case WriteMultipleCoils:
		pdu = be.AppendUint16(be.AppendUint16(pdu, r.WriteAddress), uint16(len(r.Values)))
		data := make([]byte, (len(r.Values)+7)/8)
		for i, v := range r.Values {
			data[i/8] |= byte(v) << (i % 8)
		}
		return append(append(pdu, byte(len(data))), data...)
	case WriteMultipleRegisters, ReadWriteRegisters:
		pdu = be.AppendUint16(be.AppendUint16(pdu, r.WriteAddress), uint16(len(r.Values)))
		pdu = append(pdu, byte(2*len(r.Values)))
		for _, v := range r.Values {
			pdu = be.AppendUint16(pdu, v)
		}
	}
	return pdu
}

func FuzzDecode(f *testing.F) {
	for _, x := range exchanges {
		f.Add(raw(f, x.request))
	}
	f.Fuzz(func(t *testing.T, pdu []byte) {
		if len(pdu) > maxPDU {
			return
		}
		req, err := Decode(pdu)
		if err != nil {
			if _, ok := err.(Exception); !ok {
				t.Fatalf("% X: %v is no exception", pdu, err)
			}
			return
		}
		again := encode(req)
		if req.Function == WriteMultipleCoils { // padding bits say nothing
			again, pdu = again[:len(again)-1], pdu[:len(pdu)-1]
		}
		if !bytes.Equal(again, pdu) {
			t.Fatalf("decoded % X as %+v, which is % X", pdu, req, again)
		}
		if reply, err := Execute(newRAM(), req); err == nil && (reply[0] != req.Function || len(reply) > maxPDU) {
			t.Fatalf("% X was answered % X", pdu, reply)
		}
	})
}
