package modbus

import (
	"encoding/hex"
	"strings"
	"testing"

	"capd/internal/physical"
)

func TestDatesAsVendorsLayThemOut(t *testing.T) {
	for _, c := range []struct{ typ, wire, want string }{
		{"unix32", "6553F100", "2023-11-14T22:13:20Z"},
		{"unix64", "000000006553F100", "2023-11-14T22:13:20Z"},
		{"unix64", "FFFFFFFFFFFFFFFF", ""},
		{"unixms64", "0000018BCFE5687B", "2023-11-14T22:13:20.123Z"},
		{"ti081", "0018021D173BEA5F", "2024-02-29T23:59:59.999"},
		{"ti081", "0017021D173BEA5F", ""}, // 2023 is no leap year
		{"ti081", "0018021D173BEA60", ""}, // 60 s
		{"ti081", "0018021D17BBEA5F", ""}, // marked as invalid
		{"bcd_datetime", "240229235959", "2024-02-29T23:59:59"},
		{"bcd_datetime", "990101000000", "1999-01-01T00:00:00"},
		{"bcd_datetime", "240230235959", ""},
		{"bcd_datetime", "24022923595A", ""},
		{"bcd_datetime", "000000000000", ""},
		{"bcd_datetime", "FFFFFFFFFFFF", ""},
		{"bcd_datetime", "240229240000", ""},
		{"s7_datetime", "2402292359591235", "2024-02-29T23:59:59.123"},
		{"s7_datetime", "24022923595912B5", ""},
		{"datetime8", "18021D173B3B", "2024-02-29T23:59:59"},
		{"datetime8", "18021D173B3C", ""},
		{"datetime16", "07E80002001D0017003B003B", "2024-02-29T23:59:59"},
		{"datetime16", "00180002001D0017003B003B", "2024-02-29T23:59:59"},
		{"datetime16", "00C80002001D0017003B003B", ""}, // the year 200
		{"datetime16", "FFFFFFFFFFFFFFFFFFFFFFFF", ""},
	} {
		a := at(t, "{table: holding_register, address: 1, type: "+c.typ+", byte_order: ABCD}")
		wire, err := hex.DecodeString(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		s := a.sample(a.canonical(wire))
		if c.want != "" {
			wantValue(t, s, c.want)
		} else if s.Quality != physical.Bad || !strings.Contains(strings.ToUpper(s.Detail), c.wire) && c.typ != "unix64" {
			t.Errorf("%s %s is %+v", c.typ, c.wire, s)
		}
	}
	swapped := at(t, "{table: holding_register, address: 1, type: bcd_datetime, byte_order: CDAB}")
	wantValue(t, swapped.sample(swapped.canonical([]byte{0x59, 0x58, 0x29, 0x23, 0x24, 0x02})), "2024-02-29T23:59:58")
}

func TestABinaryCodedDecimalMayHaveAScaleRegister(t *testing.T) {
	a := at(t, "{table: holding_register, address: 1, type: bcd16, scale_register: 2}")
	wantValue(t, a.sample([]byte{0x12, 0x34, 0xFF, 0xFE}), "12.34")
}
