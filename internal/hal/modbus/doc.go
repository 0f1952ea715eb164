// Package modbus is the Modbus wire of capd: TCP, TLS, serial lines and serial frames over TCP.
//
// Its promise: under any single fault of wire, gateway or device a read gives the right value of the right register or an error,
// never another register's value and never a late one; a write is sent at most once, and its error says whether the device may
// have got it. goburrow/modbus supplies the request functions; framing, sockets, ports, checking, planning and types are here.
//
// It never repeats a write, never fills a gap with a value, never clamps, and holds no loop and no lock: the hal.Link that owns
// a connection runs it.
//
// How a request travels: a Conn plans few requests for a batch of addresses (plan.go), each becomes one transaction
// (transaction.go) that is goburrow's Packager and Transporter at once, the channel (channel.go) owns the stream and its fate, the
// framing finds the reply that belongs to the request, and verifyPDU (pdu.go) holds that reply against the request. Answers of
// Modbus TCP carry a number (mbap.go). Those of a line (rtu.go) carry none: they are found among all bytes by unit, function, length
// and check (search.go), and what is still owed is remembered and asked off before a request of the same form (debts.go). A further
// transport is a dialer and, where it frames differently, a framing.
package modbus
