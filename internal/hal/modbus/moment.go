package modbus

import (
	"encoding/binary"
	"fmt"
	"time"

	"capd/internal/physical"
)

// The types of dates and times. Their values are texts after RFC 3339; those without a zone are of the device's own clock.
const (
	momentUnix32   = "unix32"       // seconds since 1970, UTC
	momentUnix64   = "unix64"       // the same in 64 bits
	momentUnixMS64 = "unixms64"     // milliseconds since 1970, UTC
	momentTI081    = "ti081"        // four registers after IEC 60870-5-4 as Schneider Electric and others lay them out
	momentBCD      = "bcd_datetime" // three registers of binary coded decimals: year and month, day and hour, minute and second
	momentS7       = "s7_datetime"  // DATE_AND_TIME of Siemens S7: as bcd_datetime, then three digits of milliseconds and the weekday
	momentBytes    = "datetime8"    // as bcd_datetime, but in binary
	momentWords    = "datetime16"   // six registers: year (with or without its century), month, day, hour, minute, second
)

const year10000 = 253402300800 // seconds since 1970

func decodeMoment(name string, raw []byte) decoded {
	switch name {
	case momentUnix32:
		return decodeUnix(uint64(binary.BigEndian.Uint32(raw)), 1, time.RFC3339)
	case momentUnix64:
		return decodeUnix(binary.BigEndian.Uint64(raw), 1, time.RFC3339)
	case momentUnixMS64:
		return decodeUnix(binary.BigEndian.Uint64(raw), 1000, "2006-01-02T15:04:05.000Z07:00")
	case momentTI081:
		return decodeTI081(raw)
	case momentBCD, momentS7:
		return decodeBCDMoment(name, raw)
	case momentBytes:
		var f [6]int
		for i := range f {
			f[i] = int(raw[i])
		}
		return decodeClock(raw, f, "")
	default:
		var f [6]int
		for i := range f {
			f[i] = int(binary.BigEndian.Uint16(raw[2*i:]))
		}
		return decodeClock(raw, f, "")
	}
}

// decodeUnix reads parts of a second since 1970.
func decodeUnix(n, parts uint64, layout string) decoded {
	if n >= year10000*parts {
		return bad(physical.CauseImplausible, "the device sent %d/%d s since 1970, which is after the year 9999", n, parts)
	}
	return decoded{value: physical.TextOf(time.UnixMilli(int64(n * (1000 / parts))).UTC().Format(layout))}
}

// decodeBCDMoment reads two digits from each byte. Of S7, the last nibble is the weekday, which says nothing new.
func decodeBCDMoment(name string, raw []byte) decoded {
	digits, fraction := raw, ""
	if name == momentS7 {
		fraction = fmt.Sprintf(".%02X%X", raw[6], raw[7]>>4)
		digits = append(append([]byte(nil), raw[:7]...), raw[7]&0xF0)
	}
	for _, b := range digits {
		if b>>4 > 9 || b&0x0F > 9 {
			return bad(physical.CauseImplausible, "the device sent %X, which is no date and time in binary coded decimals", raw)
		}
	}
	var f [6]int
	for i := range f {
		f[i] = int(digits[i]>>4)*10 + int(digits[i]&0x0F)
	}
	return decodeClock(raw, f, fraction)
}

// decodeClock reads year, month, day, hour, minute and second. Years of two digits are 1990 to 2089, as Siemens S7 has them.
func decodeClock(raw []byte, f [6]int, fraction string) decoded {
	year := f[0]
	switch {
	case year < 90:
		year += 2000
	case year < 100:
		year += 1900
	}
	t := time.Date(year, time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC)
	if got := [6]int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()}; got != [6]int{year, f[1], f[2], f[3], f[4], f[5]} || year < 1000 || year > 9999 {
		return bad(physical.CauseImplausible, "the device sent %X, which is no date and time", raw)
	}
	return decoded{value: physical.TextOf(t.Format("2006-01-02T15:04:05") + fraction)}
}

// decodeTI081 reads year (7 bits), month (4) and day (5), hour (5) and minute (6), milliseconds of the minute; the highest bit of the
// minute marks the whole as invalid.
func decodeTI081(raw []byte) decoded {
	if raw[5]&0x80 != 0 {
		return bad(physical.CauseInvalid, "the device marks its time as invalid (%X)", raw)
	}
	ms := int(binary.BigEndian.Uint16(raw[6:]))
	f := [6]int{2000 + int(raw[1]&0x7F), int(raw[2] & 0x0F), int(raw[3] & 0x1F), int(raw[4] & 0x1F), int(raw[5] & 0x3F), ms / 1000}
	return decodeClock(raw, f, fmt.Sprintf(".%03d", ms%1000))
}
