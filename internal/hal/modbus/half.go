package modbus

import (
	"math"
	"strconv"
)

// halfToFloat reads an IEEE 754 binary16 number.
func halfToFloat(bits uint16) float64 {
	fraction, exponent := float64(bits&0x3FF), int(bits>>10&0x1F)
	f := 0.0
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 0x1F:
		f = math.Inf(1)
		if fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits&0x8000 != 0 {
		return -f
	}
	return f
}

// floatToHalf rounds to the nearest binary16 number, ties to even; false when f is beyond its range or no number.
func floatToHalf(f float64) (bits uint16, ok bool) {
	sign := uint16(0)
	if math.Signbit(f) {
		sign, f = 0x8000, -f
	}
	if math.IsNaN(f) || f >= 65520 { // halfway between the largest number and what would follow it
		return 0, false
	}
	if f < 0x1p-14 {
		return sign | uint16(math.RoundToEven(math.Ldexp(f, 24))), true
	}
	fraction, exponent := math.Frexp(f)
	steps := uint16(math.RoundToEven(math.Ldexp(fraction, 11))) - 1024 // 1024 here carries into the exponent, as it must
	return sign | (uint16(exponent+14)<<10 + steps), true
}

// shortestHalf is the shortest decimal that stands for the same binary16 number as f.
func shortestHalf(f float64) string {
	want, _ := floatToHalf(f)
	for digits := 0; digits < 5; digits++ {
		s := strconv.FormatFloat(f, 'e', digits, 64)
		near, err := strconv.ParseFloat(s, 64)
		if got, ok := floatToHalf(near); err == nil && ok && got == want {
			return s
		}
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
