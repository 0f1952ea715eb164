package modbusd

const (
	meiDeviceID      = 14
	individualAccess = 4
	conformity       = 0x82 // regular identification, by stream and by object
	basicObjects     = 3
	regularObjects   = 7
)

// deviceID answers function 43/14 (section 6.21). A stream that does not fit says which object to ask for next.
func deviceID(objects []string, r Request) ([]byte, error) {
	first, end := int(r.ObjectID), len(objects)
	switch r.DeviceIDCode {
	case individualAccess:
		if first >= len(objects) {
			return nil, IllegalAddress
		}
		end = first + 1
	case 1:
		end = min(end, basicObjects)
	default:
		end = min(end, regularObjects)
	}
	if first >= end {
		first = 0 // an unknown object restarts the stream
	}
	reply := []byte{EncapsulatedInterface, meiDeviceID, r.DeviceIDCode, conformity, 0, 0, 0}
	for id := first; id < end; id++ {
		text := objects[id]
		if len(reply)+2+len(text) > maxPDU {
			if id == first {
				return nil, DeviceFailure
			}
			reply[4], reply[5] = 0xFF, byte(id)
			break
		}
		reply = append(reply, byte(id), byte(len(text)))
		reply = append(reply, text...)
		reply[6]++
	}
	return reply, nil
}
