package cli

import (
	"crypto/x509"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
)

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
