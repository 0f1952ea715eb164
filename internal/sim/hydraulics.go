package sim

import "math"

// Figures of the station. Heads in metres of water, flows in m3/h, resistances in m/(m3/h)².
const (
	shutoffHead     = 32.0    // of one pump at full speed
	pumpResistance  = 0.0012  // droop of a pump's curve
	pipeResistance  = 0.00107 // discharge main
	valveResistance = 0.00069 // FCV-04 fully open; grows with 1/opening²
	outfall         = 10.3    // height of the outfall above the well's floor, m
	suctionLost     = 0.3     // level below which a pump sucks air, m
	wellArea        = 12.0    // m²
	wellDepth       = 6.0     // m
	inletFlow       = 40.0    // through XV-03 fully open
	metresPerBar    = 10.2
)

// hydraulics returns the head in the discharge manifold and the flow of each pump. Speeds are 0 to 1, opening is the FCV's
// 0 to 1, level is the well's in metres. Pumps obey the affinity laws and have check valves.
func hydraulics(speeds [2]float64, opening, level float64) (head float64, flows [2]float64) {
	static := outfall - level
	top := static
	for _, n := range speeds {
		top = math.Max(top, shutoffHead*n*n)
	}
	if opening <= 0 || level <= suctionLost || top == static {
		return top, flows
	}
	load := pipeResistance + valveResistance/(opening*opening)
	low, high := static, top
	for range 50 { // supply falls with the head and demand rises: bisect
		head = (low + high) / 2
		supply := pumpFlow(speeds[0], head) + pumpFlow(speeds[1], head)
		if supply > math.Sqrt((head-static)/load) {
			low = head
		} else {
			high = head
		}
	}
	return head, [2]float64{pumpFlow(speeds[0], head), pumpFlow(speeds[1], head)}
}

func pumpFlow(speed, head float64) float64 {
	return math.Sqrt(math.Max(0, shutoffHead*speed*speed-head) / pumpResistance)
}

// motorPower returns the electrical power in kW of a pump's motor: hydraulic power (9.81 kN/m3 x flow x head) over efficiency, plus churning of the
// impeller, plus the motor's own loss. Uncoupled, the own loss is all.
func motorPower(speed, flow, head float64, coupled bool) float64 {
	if speed <= 0 {
		return 0
	}
	own := 0.3 + 0.25*speed
	if !coupled {
		return own
	}
	off := (flow/speed - 75) / 95
	efficiency := math.Max(0.2, 0.72*(1-off*off))
	shaft := 1.8*speed*speed*speed + 9.81*flow/3600*head/efficiency
	return own + shaft/0.92
}

// approach moves from one value towards another by at most step.
func approach(from, to, step float64) float64 {
	return from + math.Max(-step, math.Min(step, to-from))
}
