//go:build libraries

package archtest

// The wire libraries of rooms that are not built yet, named here so that go.mod keeps their versions: newer ones do not build, or
// are not to be had.
import (
	_ "github.com/elgs/gostrgen"
	_ "github.com/goburrow/serial"
	_ "github.com/use-go/onvif"
	_ "go.einride.tech/can"
)
