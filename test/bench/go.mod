module capd/test/bench

go 1.26.0

replace capd => ../..

require (
	capd v0.0.0
	github.com/simonvetter/modbus v1.6.4
)

require (
	github.com/goburrow/modbus v0.1.0 // indirect
	github.com/goburrow/serial v0.1.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/shopspring/decimal v1.6.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)
