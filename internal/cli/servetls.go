package cli

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
)

// tlsFlags puts the flags about certificates over the file.
func (c *serveCmd) tlsFlags(t *config.TLS) error {
	t.Cert, t.Key, t.ClientCA = cmp.Or(c.TLSCert, t.Cert), cmp.Or(c.TLSKey, t.Key), cmp.Or(c.ClientCA, t.ClientCA)
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return usagef("TLS needs --tls-cert and --tls-key")
	case t.Cert == "" && t.ClientCA != "":
		return usagef("--client-ca needs --tls-cert: without it callers show no certificates")
	}
	return nil
}

// namedFile puts what a file was given by in front of an error about it.
func namedFile(err error, names map[string]string) error {
	if f := new(tlsfile.FileError); errors.As(err, &f) {
		return fmt.Errorf("%s: %w", names[f.Which], err)
	}
	return err
}

// openTLS reads what the listeners show. Without a certificate they speak in the clear.
func (h *hub) openTLS() error {
	if !h.cfg.TLS.On() {
		return nil
	}
	files := h.cfg.TLS.Files()
	files.Logger = h.logger
	var err error
	if h.tls, err = tlsfile.Open(files); err != nil {
		return usagef("%w", namedFile(err, map[string]string{
			"cert": "tls.cert (--tls-cert)", "key": "tls.key (--tls-key)", "client_ca": "tls.client_ca (--client-ca)",
			"client_crl": "tls.client_crl",
		}))
	}
	if leaf := h.tls.Leaf(); time.Now().After(leaf.NotAfter) || time.Now().Before(leaf.NotBefore) {
		h.logger.Warn("the certificate is not good at this time", "file", files.Cert, "from", leaf.NotBefore, "to", leaf.NotAfter)
	}
	return nil
}

// takeCertificates lets callers in who have certificates that the configuration names.
func (h *hub) takeCertificates() error {
	if len(h.cfg.Auth.Certificates) == 0 {
		return nil
	}
	rules, err := h.cfg.Auth.CertificateRules()
	if err != nil {
		return usagef("%s: %w", h.cfg.File, err)
	}
	h.keys.Certificates = unrevoked{rules, h.tls}
	return nil
}

// unrevoked knows who calls with a certificate that nobody has revoked since the handshake.
type unrevoked struct {
	auth.Certificates

	tls *tlsfile.Source
}

// Certificate implements auth.Certificates.
func (u unrevoked) Certificate(chains [][]*x509.Certificate) (*auth.Principal, error) {
	if err := u.tls.Good(chains); err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrUnauthenticated, err)
	}
	return u.Certificates.Certificate(chains)
}

// serveHTTP serves the listener for HTTP, over TLS if there is a certificate.
func (h *hub) serveHTTP() error {
	if h.tls == nil {
		return h.server.Serve(h.listener)
	}
	h.server.TLSConfig = h.tls.Config("h2", "http/1.1")
	return h.server.ServeTLS(h.listener, "", "")
}

// scheme is that of the hub's addresses.
func (h *hub) scheme() string {
	if h.tls == nil {
		return "http"
	}
	return "https"
}

// grpcOptions make the gRPC listener speak TLS, if there is a certificate.
func (h *hub) grpcOptions() []grpc.ServerOption {
	if h.tls == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(h.tls.Config("h2")))}
}

// tlsFacts finds out what the listeners would show; nil if they speak in the clear.
func tlsFacts(cfg *config.Config) *doctor.TLS {
	if !cfg.TLS.On() {
		return nil
	}
	t := &doctor.TLS{Rules: len(cfg.Auth.Certificates)}
	for i := range cfg.Auth.Certificates {
		if cfg.Auth.Certificates[i].CA == "" {
			t.Wide++
		}
	}
	s, err := tlsfile.Open(cfg.TLS.Files())
	if err == nil && cfg.TLS.ClientCA != "" {
		var all []*x509.Certificate
		all, err = tlsfile.ReadCertificates(cfg.TLS.ClientCA)
		t.Authorities = len(all)
	}
	if err == nil {
		_, err = cfg.Auth.CertificateRules()
	}
	if err != nil {
		t.Problem = err.Error()
		return t
	}
	t.Leaf = s.Leaf()
	t.Unlisted = s.Unlisted()
	for _, l := range s.Lists() {
		t.Lists = append(t.Lists, doctor.RevocationList(l))
	}
	return t
}
