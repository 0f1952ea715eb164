package modbus

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"testing"

	"capd/internal/physical"
)

func number1(t testing.TB, s string) physical.Value {
	t.Helper()
	d, err := physical.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return physical.NumberOf(d)
}

// TestTypesReadAndWriteTheSame holds the wire's bytes of one value in each type and order.
func TestTypesReadAndWriteTheSame(t *testing.T) {
	for _, c := range []struct{ typ, wire, want string }{
		{"uint16", "FFFE", "65534"},
		{"int16", "FFFE", "-2"},
		{"int16, byte_order: BA", "FEFF", "-2"},
		{"uint16, byte_order: BA", "3412", "4660"},
		{"uint32, byte_order: ABCD", "01020304", "16909060"},
		{"uint32, byte_order: CDAB", "03040102", "16909060"},
		{"uint32, byte_order: BADC", "02010403", "16909060"},
		{"uint32, byte_order: DCBA", "04030201", "16909060"},
		{"int32, byte_order: CDAB", "FFFEFFFF", "-2"},
		{"float32, byte_order: ABCD", "429B077A", "77.5146"},
		{"float32, byte_order: CDAB", "077A429B", "77.5146"},
		{"float32, byte_order: BADC", "9B427A07", "77.5146"},
		{"float32, byte_order: DCBA", "7A079B42", "77.5146"},
		{"float32, byte_order: ABCD", "3DCCCCCD", "0.1"},
		{"float64, byte_order: ABCD", "3FB999999999999A", "0.1"},
		{"float64, byte_order: DCBA", "9A9999999999B93F", "0.1"},
		{"float64, byte_order: CDAB", "999A999999993FB9", "0.1"},
		{"float16", "2E66", "0.1"},
		{"float16", "C000", "-2"},
		{"float16", "7BFF", "65504"}, // a whole number is told to its last digit
		{"float32, byte_order: ABCD", "4D000001", "134217744"},
		{"float32, byte_order: ABCD", "CD000001", "-134217744"},
		{"float64, byte_order: ABCD", "433FFFFFFFFFFFFF", "9007199254740991"},
		{"uint64, byte_order: ABCD", "FFFFFFFFFFFFFFFF", "18446744073709551615"},
		{"int64, byte_order: ABCD", "8000000000000000", "-9223372036854775808"},
		{"bcd16", "1234", "1234"},
		{"bcd32, byte_order: CDAB", "56781234", "12345678"},
		{"string, length: 5", "48656C6C6F00", "Hello"},
		{"string, length: 4", "48690000", "Hi"},
	} {
		a := at(t, "{table: holding_register, address: 1, type: "+c.typ+"}")
		wire, err := hex.DecodeString(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		s := a.sample(a.canonical(wire))
		wantValue(t, s, c.want)
		raw, err := a.Encode(s.Value)
		if err != nil || string(raw) != string(s.Raw) {
			t.Errorf("%s: encoded % X (%v), read % X", a, raw, err, s.Raw)
			continue
		}
		if got := a.registers(raw); string(got) != string(wire) {
			t.Errorf("%s: sends % X, read % X", a, got, wire)
		}
	}
}

func TestPartsOfARegister(t *testing.T) {
	for _, c := range []struct{ place, wire, want, raw string }{
		{"type: uint16, bit: 0", "0001", "true", "01"},
		{"type: uint16, bit: 15", "8000", "true", "01"},
		{"type: uint16, bit: 8", "00FF", "false", "00"},
		{"type: uint16, bit: 8, byte_order: BA", "0001", "true", "01"},
		{"type: uint8, byte: high", "12FE", "18", "12"},
		{"type: int8, byte: low", "12FE", "-2", "FE"},
		{"type: int8, byte: low, byte_order: BA", "FE12", "-2", "FE"},
	} {
		a := at(t, "{table: holding_register, address: 1, "+c.place+"}")
		wire, err := hex.DecodeString(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		s := a.sample(a.canonical(wire))
		wantValue(t, s, c.want)
		if got := strings.ToUpper(hex.EncodeToString(s.Raw)); got != c.raw {
			t.Errorf("%s: raw %s, want %s", a, got, c.raw)
		}
	}
}

func TestWhatIsNoValueIsBad(t *testing.T) {
	for _, c := range []struct {
		typ, invalid, wire string
		cause              physical.Cause
	}{
		{"int16", "[0x8000]", "8000", physical.CauseInvalid},
		{"uint32, byte_order: CDAB", "[0x80000001]", "00018000", physical.CauseInvalid},
		{"float32, byte_order: ABCD", "[0x7FC00000]", "7FC00000", physical.CauseInvalid},
		{"float32, byte_order: ABCD", "", "7F800000", physical.CauseNotANumber},
		{"float64, byte_order: ABCD", "", "7FF8000000000001", physical.CauseNotANumber},
		{"float16", "", "7C01", physical.CauseNotANumber},
		{"float32, byte_order: ABCD", "", "0000429B", physical.CauseImplausible}, // a word order mistaken
		{"float64, byte_order: ABCD", "", "0000000000004059", physical.CauseImplausible},
		{"float16", "", "0001", physical.CauseImplausible},
		{"bcd16", "", "12A4", physical.CauseImplausible},
		{"string, length: 2", "", "FFFE", physical.CauseImplausible},
	} {
		a := pointOn(t, "{table: holding_register, address: 1, type: "+c.typ+"}", "{unit_id: 1}", c.invalid)
		wire, err := hex.DecodeString(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		s := a.sample(a.canonical(wire))
		if s.Quality != physical.Bad || s.Cause != c.cause || !s.Value.IsZero() || s.Detail == "" || len(s.Raw) != a.size {
			t.Errorf("%s % X: %+v", a, wire, s)
		}
	}
}

func TestValuesThatATypeCannotHoldAreRefusedWithItsLimits(t *testing.T) {
	for _, c := range []struct {
		typ  string
		v    physical.Value
		want string
	}{
		{"uint16", physical.IntOf(65536), "0 to 65535"},
		{"uint16", physical.IntOf(-1), "0 to 65535"},
		{"uint16", number1(t, "1.5"), "not an integer"},
		{"int16", physical.IntOf(32768), "-32768 to 32767"},
		{"uint8, byte: low", physical.IntOf(256), "0 to 255"},
		{"int8, byte: low", physical.IntOf(-129), "-128 to 127"},
		{"uint32, byte_order: ABCD", number1(t, "4294967296"), "4294967295"},
		{"uint64, byte_order: ABCD", number1(t, "18446744073709551616"), "18446744073709551615"},
		{"int64, byte_order: ABCD", number1(t, "-9223372036854775809"), "-9223372036854775808"},
		{"uint64, byte_order: ABCD", number1(t, "1e300"), "18446744073709551615"},
		{"bcd16", physical.IntOf(10000), "0 to 9999"},
		{"bcd32, byte_order: ABCD", physical.IntOf(-1), "0 to 99999999"},
		{"float32, byte_order: ABCD", number1(t, "1e39"), "is too large for float32; ask for -3.4028235e+38 to 3.4028235e+38"},
		{"float64, byte_order: ABCD", number1(t, "-1e309"), "too large"},
		{"float16", physical.IntOf(65520), "ask for -65504 to 65504"},
		{"float32, byte_order: ABCD", number1(t, "1e-39"), "too close to 0"},
		{"float64, byte_order: ABCD", number1(t, "1e-400"), "too close to 0"},
		{"float16", number1(t, "0.00001"), "too close to 0"},
		{"string, length: 2", physical.TextOf("abc"), "at most 2"},
		{"string, length: 2", physical.TextOf("\x00"), "NUL"},
		{"uint16", physical.FlagOf(true), "number"},
		{"uint16, bit: 1", physical.IntOf(1), "boolean"},
		{"uint16", physical.Value{}, "nothing"},
	} {
		a := at(t, "{table: holding_register, address: 1, type: "+c.typ+"}")
		if raw, err := a.Encode(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s takes %s as % X, %v", a, c.v, raw, err)
		}
	}
}

func TestEveryHalfPrecisionNumberSurvivesItsShortestDecimal(t *testing.T) {
	for bits := range 0x10000 {
		f := halfToFloat(uint16(bits))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		back, err := strconv.ParseFloat(shortestHalf(f), 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := floatToHalf(back); !ok || got != uint16(bits) {
			t.Fatalf("%04X is written %s and read as %04X", bits, shortestHalf(f), got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint8(5), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(1))
	f.Add(uint8(10), []byte{0x7F, 0xC0, 0, 0, 0, 0, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, which uint8, wire []byte, arrangement uint8) {
		typ := dataTypes()[int(which)%len(dataTypes())]
		a := &address{table: holdingRegister, typ: typ, size: typ.size, order: orderByName(orderNames()[arrangement%4])}
		if typ.class == classText {
			a.size = len(wire)
		}
		a.count = (a.size + 1) / 2
		if a.size == 0 || typ.class == classBit || len(wire) < 2*a.count {
			return
		}
		if a.size == 1 {
			a.part = highByte
		}
		s := a.sample(a.canonical(wire[:2*a.count]))
		if len(s.Raw) != a.size || (s.Quality == physical.Good) == s.Value.IsZero() {
			t.Fatalf("%s % X: %+v", a, wire, s)
		}
		if s.Quality != physical.Good || typ.class == classText || typ.class == classMoment {
			return
		}
		raw, err := a.Encode(s.Value)
		if zero := s.Value.String() == "0"; err != nil || string(raw) != string(s.Raw) && !zero { // -0 is written as 0
			t.Fatalf("%s: % X is %s, which is written as % X (%v)", a, s.Raw, s.Value, raw, err)
		}
	})
}
