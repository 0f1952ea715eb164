package config

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"capd/internal/document"
)

func (r *reader) mcp(m *document.Map, to *MCP) {
	to.AllowedOrigins, to.AllowedHosts = m.Strings("allowed_origins"), m.Strings("allowed_hosts")
	for _, o := range to.AllowedOrigins {
		if why := badOrigin(o); why != "" {
			m.Problem("allowed_origins", "%q %s; write scheme://host or scheme://host:port, such as https://console.plant.example", o, why)
		}
	}
	for _, h := range to.AllowedHosts {
		if why := badHost(h); why != "" {
			m.Problem("allowed_hosts", "%q %s; write host or host:port as agents write it in their URL, such as gateway.plant.example", h, why)
		}
	}
	if m.Has("listen") {
		var ok bool
		if to.Listen, ok = m.Node("listen").ReadString(r.ps); ok {
			r.listen(m, *to)
		}
	}
	m.Done()
}

// listen checks the address. Other machines may be let in, but nobody should do so unawares.
func (r *reader) listen(m *document.Map, c MCP) {
	loopback, why := listenAddress(c.Listen)
	switch {
	case why != "":
		m.Problem("listen", "%q is not an address to listen on: %s; write IP:port, such as 127.0.0.1:7420", c.Listen, why)
	case !loopback && len(c.AllowedHosts) == 0:
		r.warn(m, "listen", "put a TLS proxy in front of 127.0.0.1, and name the box in mcp.allowed_hosts, or its requests are refused",
			"other machines can reach %s, and tokens cross the network in the clear", c.Listen)
	case !loopback:
		r.warn(m, "listen", "put a TLS proxy in front and listen on 127.0.0.1",
			"other machines can reach %s, and tokens cross the network in the clear", c.Listen)
	}
}

// listenAddress says whether an address belongs to the loopback, or why it is none.
func listenAddress(address string) (loopback bool, why string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, "it has no port, or an IPv6 address without brackets"
	}
	if !isPort(port) {
		return false, "the port " + strconv.Quote(port) + " is not from 0 to 65535"
	}
	if host == "" || host == "localhost" {
		return host != "", ""
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false, "the host " + strconv.Quote(host) + " is neither an IP address nor localhost"
	}
	return ip.Unmap().IsLoopback(), ""
}

// isPort takes numbers only: a name such as http would be looked up in a file of the system.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// badOrigin says why a text is no origin as browsers send it (RFC 6454, section 6.1).
func badOrigin(origin string) string {
	if origin == "*" || origin == "null" {
		return "would let every web page in"
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "is not an origin"
	}
	if origin != u.Scheme+"://"+u.Host {
		return "has more than an origin has, or upper case"
	}
	return badHost(u.Host)
}

// badHost says why a text is no host[:port] as browsers and agents send it.
func badHost(host string) string {
	if host == "*" {
		return "would let every name in"
	}
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if !isPort(port) {
			return "has a port that is not from 0 to 65535"
		}
		name = h
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return ""
	}
	for _, r := range name {
		if r != '-' && r != '.' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return "is not a host name in lower case"
		}
	}
	if name == "" || len(name) > 253 {
		return "is not a host name"
	}
	return ""
}
