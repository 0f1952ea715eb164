package modbus

import (
	"encoding/binary"
	"time"

	"capd/internal/physical"
)

// The types of dates and times. Their values are texts after RFC 3339.
const (
	momentUnix32   = "unix32"   // seconds since 1970, UTC
	momentUnixMS64 = "unixms64" // milliseconds since 1970, UTC
	momentTI081    = "ti081"    // four registers after IEC 60870-5-4 as Schneider Electric and others lay them out; the device's own time
)

func decodeMoment(name string, raw []byte) decoded {
	switch name {
	case momentUnix32:
		return decoded{value: physical.TextOf(time.Unix(int64(binary.BigEndian.Uint32(raw)), 0).UTC().Format(time.RFC3339))}
	case momentUnixMS64:
		ms := binary.BigEndian.Uint64(raw)
		const year10000 = 253402300800000
		if ms >= year10000 {
			return bad(physical.CauseImplausible, "the device sent %d ms since 1970, which is after the year 9999", ms)
		}
		return decoded{value: physical.TextOf(time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z07:00"))}
	default:
		return decodeTI081(raw)
	}
}

// decodeTI081 reads year (7 bits), month (4) and day (5), hour (5) and minute (6), milliseconds of the minute; the highest bit of the
// minute marks the whole as invalid.
func decodeTI081(raw []byte) decoded {
	if raw[5]&0x80 != 0 {
		return bad(physical.CauseInvalid, "the device marks its time as invalid (%X)", raw)
	}
	year, month, day := 2000+int(raw[1]&0x7F), int(raw[2]&0x0F), int(raw[3]&0x1F)
	hour, minute, ms := int(raw[4]&0x1F), int(raw[5]&0x3F), int(binary.BigEndian.Uint16(raw[6:]))
	t := time.Date(year, time.Month(month), day, hour, minute, ms/1000, ms%1000*int(time.Millisecond), time.UTC)
	if t.Month() != time.Month(month) || t.Day() != day || t.Hour() != hour || t.Minute() != minute {
		return bad(physical.CauseImplausible, "the device sent %X, which is no date and time", raw)
	}
	return decoded{value: physical.TextOf(t.Format("2006-01-02T15:04:05.000"))}
}
