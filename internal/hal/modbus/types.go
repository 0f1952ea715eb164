package modbus

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"capd/internal/physical"
)

// class is how the bytes of a value are to be understood.
type class uint8

const (
	classBit class = iota + 1
	classUnsigned
	classSigned
	classFloat
	classBCD
	classText
	classMoment
)

// dataType is a type of the contract files. size is in bytes; 0 where the point declares a length.
type dataType struct {
	name  string
	class class
	size  int
}

func dataTypes() []dataType {
	return []dataType{
		{"bit", classBit, 1},
		{"uint8", classUnsigned, 1}, {"int8", classSigned, 1},
		{"uint16", classUnsigned, 2}, {"int16", classSigned, 2},
		{"uint32", classUnsigned, 4}, {"int32", classSigned, 4},
		{"uint64", classUnsigned, 8}, {"int64", classSigned, 8},
		{"float16", classFloat, 2}, {"float32", classFloat, 4}, {"float64", classFloat, 8},
		{"bcd8", classBCD, 1}, {"bcd16", classBCD, 2}, {"bcd32", classBCD, 4}, {"bcd64", classBCD, 8},
		{"string", classText, 0},
		{momentUnix32, classMoment, 4}, {momentUnix64, classMoment, 8}, {momentUnixMS64, classMoment, 8}, {momentTI081, classMoment, 8},
		{momentBCD, classMoment, 6}, {momentS7, classMoment, 8}, {momentBytes, classMoment, 6}, {momentWords, classMoment, 12},
	}
}

func typeNames() []string {
	var names []string
	for _, t := range dataTypes() {
		names = append(names, t.name)
	}
	return names
}

func typeByName(name string) (dataType, bool) {
	all := dataTypes()
	if i := slices.IndexFunc(all, func(t dataType) bool { return t.name == name }); i >= 0 {
		return all[i], true
	}
	return dataType{}, false
}

// kind is the form of the raw value.
func (t dataType) kind() physical.Kind {
	switch t.class {
	case classBit:
		return physical.Bool
	case classText, classMoment:
		return physical.Text
	default:
		return physical.Number
	}
}

// decoded is what canonical bytes mean: a value, or why there is none.
type decoded struct {
	value  physical.Value
	cause  physical.Cause
	detail string
}

func bad(cause physical.Cause, format string, args ...any) decoded {
	return decoded{cause: cause, detail: fmt.Sprintf(format, args...)}
}

// decode reads canonical bytes (big-endian, the type's own size) of what is no text.
func (t dataType) decode(raw []byte) decoded {
	switch t.class {
	case classBit:
		return decoded{value: physical.FlagOf(raw[0] != 0)}
	case classUnsigned:
		return decoded{value: unsignedValue(bigEndian(raw))}
	case classSigned:
		shift := 64 - 8*len(raw)
		return decoded{value: physical.IntOf(int64(bigEndian(raw)<<shift) >> shift)}
	case classFloat:
		return decodeFloat(raw)
	case classBCD:
		return decodeBCD(raw)
	default:
		return decodeMoment(t.name, raw)
	}
}

func bigEndian(raw []byte) (n uint64) {
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return n
}

func unsignedValue(n uint64) physical.Value {
	if n <= math.MaxInt64 {
		return physical.IntOf(int64(n))
	}
	return numberOf(strconv.FormatUint(n, 10))
}

// numberOf makes a number of text that strconv wrote.
func numberOf(s string) physical.Value {
	d, err := physical.ParseDecimal(s)
	if err != nil {
		return physical.Value{}
	}
	return physical.NumberOf(d)
}

func decodeFloat(raw []byte) decoded {
	f, smallest := floatOf(raw)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return bad(physical.CauseNotANumber, "the device sent %v (%X)", f, raw)
	case f != 0 && math.Abs(f) < smallest:
		return bad(physical.CauseImplausible, "the device sent the denormal number %g (%X): often a wrong byte order", f, raw)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 { // the shortest decimal may differ from a whole number in its last digits
		return decoded{value: physical.IntOf(int64(f))}
	}
	if len(raw) == 2 {
		return decoded{value: numberOf(shortestHalf(f))}
	}
	return decoded{value: numberOf(strconv.FormatFloat(f, 'g', -1, 8*len(raw)))}
}

// floatOf gives an IEEE 754 number and the smallest normal magnitude of its width.
func floatOf(raw []byte) (f, smallest float64) {
	switch len(raw) {
	case 2:
		return halfToFloat(binary.BigEndian.Uint16(raw)), 0x1p-14
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(raw))), 0x1p-126
	default:
		return math.Float64frombits(binary.BigEndian.Uint64(raw)), 0x1p-1022
	}
}

func decodeBCD(raw []byte) decoded {
	digits := fmt.Sprintf("%X", raw)
	if strings.ContainsAny(digits, "ABCDEF") {
		return bad(physical.CauseImplausible, "the device sent %s, which is no binary coded decimal", digits)
	}
	return decoded{value: numberOf(digits)}
}

// encode makes canonical bytes of a raw value that is no text; size is the point's own size in bytes.
func (t dataType) encode(v physical.Value, size int) ([]byte, error) {
	if v.Kind() != t.kind() {
		return nil, fmt.Errorf("%s takes a %s, not the %s %s", t.name, t.kind(), v.Kind(), v)
	}
	switch t.class {
	case classBit:
		if on, _ := v.Bool(); on {
			return []byte{1}, nil
		}
		return []byte{0}, nil
	case classMoment:
		return nil, fmt.Errorf("%s can only be read", t.name)
	case classFloat:
		return encodeFloat(v, t.name, size)
	default:
		return t.encodeInteger(v, size)
	}
}

func (t dataType) encodeInteger(v physical.Value, size int) ([]byte, error) {
	d, _ := v.Number()
	if !d.IsInteger() {
		return nil, fmt.Errorf("%s is not an integer, and %s holds only integers", d, t.name)
	}
	low, high := t.limits(size)
	n := d.BigInt()
	if n.Cmp(low) < 0 || n.Cmp(high) > 0 {
		return nil, fmt.Errorf("%s is outside %s; ask for %s to %s", d, t.name, low, high)
	}
	if t.class == classBCD {
		n.SetString(n.String(), 16) // the decimal digits become the nibbles
	}
	if n.Sign() < 0 {
		return bytesOf(uint64(n.Int64()), size), nil
	}
	return bytesOf(n.Uint64(), size), nil
}

// bytesOf are the low size bytes of n, big-endian.
func bytesOf(n uint64, size int) []byte {
	return binary.BigEndian.AppendUint64(nil, n)[8-size:]
}

// limits are the smallest and the largest integer of the type.
func (t dataType) limits(size int) (low, high *big.Int) {
	one := big.NewInt(1)
	bits := uint(8 * size)
	switch t.class {
	case classSigned:
		high = new(big.Int).Lsh(one, bits-1)
		return new(big.Int).Neg(high), new(big.Int).Sub(high, one)
	case classBCD:
		high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(2*size)), nil)
	default:
		high = new(big.Int).Lsh(one, bits)
	}
	return new(big.Int), high.Sub(high, one)
}

func encodeFloat(v physical.Value, name string, size int) ([]byte, error) {
	width := 8 * max(size, 4)
	f, err := strconv.ParseFloat(v.String(), width)
	raw := make([]byte, size)
	switch size {
	case 2:
		half, ok := floatToHalf(f)
		if !ok {
			err = strconv.ErrRange
		}
		binary.BigEndian.PutUint16(raw, half)
	case 4:
		binary.BigEndian.PutUint32(raw, math.Float32bits(float32(f)))
	default:
		binary.BigEndian.PutUint64(raw, math.Float64bits(f))
	}
	if err != nil {
		largest := []float64{2: 65504, 4: math.MaxFloat32, 8: math.MaxFloat64}[size]
		return nil, fmt.Errorf("%s is too large for %s; ask for -%.8g to %.8g", v, name, largest, largest)
	}
	got, smallest := floatOf(raw)
	if d, _ := v.Number(); !d.IsZero() && math.Abs(got) < smallest {
		return nil, fmt.Errorf("%s is too close to 0 for %s; its smallest magnitude is %g", v, name, smallest)
	}
	return raw, nil
}
