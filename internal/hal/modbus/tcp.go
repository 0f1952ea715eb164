package modbus

import (
	"context"
	"net"
	"time"

	"capd/internal/document"
)

// dialer makes a connection; it obeys ctx.
type dialer func(ctx context.Context) (stream, error)

// readTCP reads what a link over TCP needs: endpoint (host or host:port, port 502 by default), connect_timeout and idle_close.
func readTCP(m *document.Map, ps *document.Problems, s *linkSettings) { readEndpoint(m, ps, s, "502") }

func readEndpoint(m *document.Map, ps *document.Problems, s *linkSettings, port string) {
	m.Required("endpoint")
	s.idleClose = duration(m, ps, "idle_close", time.Minute, 0)
	s.connectTimeout = duration(m, ps, "connect_timeout", 3*time.Second, time.Millisecond)
	text := m.String("endpoint")
	if text == "" {
		return
	}
	endpoint, err := endpointOf(text, port)
	if err != nil {
		ps.Add(m.Node("endpoint").Problem(document.RuleValue, `write host:port, such as "10.1.2.3:`+port+`"`, "endpoint %q is not valid: %v", text, err))
	}
	s.endpoint = endpoint
}

func openTCP(s linkSettings, c *channel) {
	c.dial, c.framing = dialTCP(s), &mbap{}
}

func dialTCP(s linkSettings) dialer {
	d := net.Dialer{Timeout: s.connectTimeout}
	return func(ctx context.Context) (stream, error) {
		conn, err := d.DialContext(ctx, "tcp", s.endpoint)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
}
