package server

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/url"
	"strconv"

	"github.com/parley-a2a/parley/grpcbind"
)

func (h *Hub) binding() grpcbind.Config {
	c := h.cfg
	return grpcbind.Config{
		Engine: h.engine, Auth: h.keys, NoStreaming: c.NoStreaming, Logger: h.logger, LogRequests: h.logsRequests(),
		PublicURL: cmp.Or(c.PublicURL, h.URL()), TLS: h.grpcTLS(), ConnState: h.conns.State,
		Limits: grpcbind.Limits{StopTime: h.core.StopTime()},
	}
}

// grpcAddr returns the address of gRPC for cards; it is empty unless it is configured or has a listener
// of its own. A listener on all addresses is named by the host of the public URL.
func (h *Hub) grpcAddr() string {
	if at := h.cfg.Cards.GRPCURL; at != "" {
		return at
	}
	if h.grpcListener == nil {
		return ""
	}
	addr := h.grpcListener.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if u, err := url.Parse(h.cfg.PublicURL); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	} else if addr.IP.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(addr.Port))
}

// namesGRPC reports whether cards name gRPC at the address of HTTP. What stands between callers and a
// public URL may pass HTTP/1.1 only, and a kit that sees gRPC dials the URL as host:port.
func (h *Hub) namesGRPC() bool { return h.cfg.PublicURL == "" && !h.cfg.Conformance }

// grpcTLS encrypts the gRPC listener, if there is a certificate.
func (h *Hub) grpcTLS() *tls.Config {
	if h.tls == nil {
		return nil
	}
	return h.tls.Config("h2")
}
