package modbusd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

const (
	mbapLength   = 7               // transaction, protocol, length, unit; the length counts from the unit on
	writeTimeout = 5 * time.Second // for a client that asks but does not read
)

// ServeTCP answers Modbus TCP clients on l, any number at once, each in a goroutine of its own, until ctx ends. Then it closes the listener and all
// connections and returns nil when the last goroutine is gone. Another error means that the listener failed.
//
// A frame that cannot be Modbus (protocol identifier not 0, length not 2 to 254) closes its connection, for nothing behind it
// can be trusted. An extra or missing byte inside a well-framed request is answered with IllegalValue.
func ServeTCP(ctx context.Context, l net.Listener, h Handler, log *slog.Logger) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("modbusd: accept on %s: %w", l.Addr(), err)
		}
		clients.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			if err := serveConn(ctx, conn, h); err != nil && ctx.Err() == nil {
				log.Debug("modbus client closed", "client", conn.RemoteAddr().String(), "reason", err.Error())
			}
		})
	}
}

// serveConn answers one client in the order of its requests. It returns nil when the client closed between two frames.
func serveConn(ctx context.Context, conn net.Conn, h Handler) error {
	in := bufio.NewReaderSize(conn, 4096)
	frame := make([]byte, mbapLength+maxPDU)
	for {
		pdu, err := readADU(in, frame)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply := h.Serve(ctx, frame[6], pdu)
		if reply == nil {
			continue
		}
		if err := writeADU(conn, frame[:mbapLength], reply); err != nil {
			return err
		}
	}
}

// readADU fills frame with the next header and request and returns the PDU in it.
func readADU(in io.Reader, frame []byte) ([]byte, error) {
	if _, err := io.ReadFull(in, frame[:mbapLength-1]); err != nil {
		return nil, err
	}
	protocol, length := word(frame, 2), int(word(frame, 4))
	if protocol != 0 {
		return nil, fmt.Errorf("modbusd: protocol identifier %d, only 0 is Modbus", protocol)
	}
	if length < 2 || length > 1+maxPDU {
		return nil, fmt.Errorf("modbusd: MBAP length %d is outside 2 to %d", length, 1+maxPDU)
	}
	frame = frame[:mbapLength-1+length]
	if _, err := io.ReadFull(in, frame[mbapLength-1:]); err != nil {
		// Not wrapped: the end of the stream here is no clean end.
		return nil, fmt.Errorf("modbusd: connection ended inside a request: %v", err)
	}
	return frame[mbapLength:], nil
}

// writeADU sends a reply under the transaction and unit of the request's header, in one segment.
func writeADU(conn net.Conn, header, reply []byte) error {
	out := append(make([]byte, 0, mbapLength+len(reply)), header...)
	binary.BigEndian.PutUint16(out[4:], uint16(1+len(reply)))
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(append(out, reply...))
	return err
}
