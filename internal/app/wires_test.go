package app

import (
	"testing"

	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/outcome"
)

func TestADeadBusIsOneAlarmAndASilentDeviceAnother(t *testing.T) {
	links := []field.LinkStatus{
		{ID: "BUS-1", Devices: []field.DeviceStatus{{ID: "VFD", Polled: 3, Silent: true}, {ID: "PM", Polled: 2, Silent: true}}},
		{ID: "BUS-2", Devices: []field.DeviceStatus{{ID: "A", Polled: 1, Silent: true}, {ID: "B", Polled: 1}}},
		{ID: "PLC-NET", Devices: []field.DeviceStatus{{ID: "PLC", Polled: 9}}},
		{ID: "GONE", Stats: hal.LinkStats{Unreachable: 2}, Devices: []field.DeviceStatus{{ID: "D", Polled: 1, Silent: true}}},
		{ID: "IDLE", Devices: []field.DeviceStatus{{ID: "C", Silent: true}}},
	}
	got := wireAlarms(links)
	if len(got) != 3 || got["link/GONE"].Code != outcome.NetworkUnreachable || got["link/BUS-1"].Text == "" || got["device/A"].Text == "" {
		t.Errorf("%+v", got)
	}
}
