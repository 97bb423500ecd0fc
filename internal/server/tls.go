package server

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
)

// openTLS reads the certificate of the listeners. Without one they do not use TLS.
func (h *Hub) openTLS() error {
	if !h.cfg.TLS.On() {
		return nil
	}
	files := h.cfg.TLS.Files()
	files.Logger = h.logger
	var err error
	if h.tls, err = tlsfile.Open(files); err != nil {
		return configf("%w", tlsfile.Named(err, map[string]string{
			"cert": "tls.cert (--tls-cert)", "key": "tls.key (--tls-key)", "client_ca": "tls.client_ca (--client-ca)",
			"client_crl": "tls.client_crl",
		}))
	}
	if leaf := h.tls.Leaf(); time.Now().After(leaf.NotAfter) || time.Now().Before(leaf.NotBefore) {
		h.logger.Warn("the certificate is expired or not yet valid", "file", files.Cert, "from", leaf.NotBefore, "to", leaf.NotAfter)
	}
	return nil
}

// takeCertificates accepts the client certificates that the configuration names.
func (h *Hub) takeCertificates() error {
	if len(h.cfg.Auth.Certificates) == 0 {
		return nil
	}
	rules, err := h.cfg.Auth.CertificateRules()
	if err != nil {
		return configf("%s: %w", h.cfg.File, err)
	}
	h.keys.Certificates = unrevoked{rules, h.tls}
	return nil
}

// unrevoked refuses certificates that were revoked since the handshake.
type unrevoked struct {
	auth.Certificates

	tls *tlsfile.Source
}

func (u unrevoked) Certificate(chains [][]*x509.Certificate) (*auth.Principal, error) {
	switch err := u.tls.Good(chains); {
	case errors.Is(err, tlsfile.ErrListEnded):
		return nil, fmt.Errorf("%w: %w: %w", auth.ErrUnauthenticated, auth.ErrUncertain, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", auth.ErrUnauthenticated, err)
	}
	p, err := u.Certificates.Certificate(chains)
	if end := u.tls.ListsUntil(chains); err == nil && !end.IsZero() {
		ends := *p
		ends.Until = end
		p = &ends
	}
	return p, err
}

// reloadTLS reads the certificates and lists again, and ends the requests of certificates that were
// revoked.
func (h *Hub) reloadTLS(anew bool) error {
	err := h.tls.Reload(anew)
	h.keys.Recheck()
	return err
}

// serveHTTP serves HTTP on the listener, over TLS if there is a certificate.
func (h *Hub) serveHTTP() error {
	if h.tls == nil {
		return h.server.Serve(h.conns.Listen(h.listener))
	}
	h.server.TLSConfig = h.tls.Config("h2", "http/1.1")
	return h.server.ServeTLS(h.conns.Listen(h.listener), "", "")
}

// strict adds Strict-Transport-Security to all answers over TLS, if tls.hsts is set (specification
// §13.1). Browsers ignore the header in answers without TLS.
func (h *Hub) strict(next http.Handler) http.Handler {
	seconds := int64(time.Duration(h.cfg.TLS.HSTS) / time.Second)
	if h.tls == nil || seconds <= 0 {
		return next
	}
	value := []string{"max-age=" + strconv.FormatInt(seconds, 10)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Strict-Transport-Security"] = value
		next.ServeHTTP(w, r)
	})
}

func (h *Hub) scheme() string {
	if h.tls == nil {
		return "http"
	}
	return "https"
}
