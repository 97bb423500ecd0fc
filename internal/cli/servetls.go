package cli

import (
	"cmp"
	"crypto/x509"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
)

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

// tlsFacts collects the facts about the certificate of the listeners; nil without TLS.
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
