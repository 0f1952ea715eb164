package app

import (
	"testing"
	"time"

	"capd/internal/field"
)

func TestADeadBusIsOneAlarmAndASilentDeviceAnother(t *testing.T) {
	off := time.Now()
	links := []field.LinkStatus{
		{ID: "BUS-1", Devices: []field.DeviceStatus{{ID: "VFD", Polled: 3, BackedOff: off}, {ID: "PM", Polled: 2, BackedOff: off}}},
		{ID: "BUS-2", Devices: []field.DeviceStatus{{ID: "A", Polled: 1, BackedOff: off}, {ID: "B", Polled: 1}}},
		{ID: "PLC-NET", Devices: []field.DeviceStatus{{ID: "PLC", Polled: 9}}},
		{ID: "IDLE", Devices: []field.DeviceStatus{{ID: "C", BackedOff: off}}},
	}
	got := wireAlarms(links)
	if len(got) != 2 || got["link/BUS-1"].Text == "" || got["device/A"].Text == "" {
		t.Errorf("%+v", got)
	}
}
