package modbus

import "slices"

// order is how a device arranges the bytes of a value. Registers themselves travel high byte first. The zero order is ABCD: most
// significant first throughout.
type order struct {
	swapBytes bool // within each register
	swapWords bool // the registers among each other
}

func orderNames() []string { return []string{"ABCD", "CDAB", "BADC", "DCBA"} }

// orderByName reads ABCD, CDAB, BADC or DCBA, for 16 bits AB or BA. For 64 bits the names mean the same pattern over four
// registers: CDAB is GHEFCDAB.
func orderByName(name string) order {
	switch name {
	case "BA", "BADC":
		return order{swapBytes: true}
	case "CDAB":
		return order{swapWords: true}
	case "DCBA":
		return order{swapBytes: true, swapWords: true}
	default:
		return order{}
	}
}

// apply rearranges whole registers in place, from the device's order to the canonical one or back: it is its own inverse.
func (o order) apply(b []byte) {
	if o.swapBytes {
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
	if o.swapWords {
		slices.Reverse(b)
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
}

func (o order) name() string {
	switch o {
	case order{swapBytes: true}:
		return "BADC"
	case order{swapWords: true}:
		return "CDAB"
	case order{swapBytes: true, swapWords: true}:
		return "DCBA"
	default:
		return "ABCD"
	}
}
