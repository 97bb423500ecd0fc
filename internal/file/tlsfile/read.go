package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ReadCertificates returns the certificates of a file in PEM, of which there must be one.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	text, err := readFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	return parseCertificates(text)
}

// parseCertificates passes over blocks of other kinds.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("has no certificate in PEM")
	}
	return all, nil
}

// ClientFiles are what a caller shows, and whom it trusts, as PEM.
type ClientFiles struct {
	// Cert and Key are the caller's certificate and its private key; empty if it has none.
	Cert, Key string
	// CA are the authorities that are trusted instead of the system's.
	CA string
}

// Client returns the config of a caller. A certificate that was renewed is taken for the
// connections that begin then. The error is a *FileError, whose Which is "cert", "key" or "ca".
func Client(f ClientFiles) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.Cert != "" || f.Key != "" {
		s, err := Open(Files{Cert: f.Cert, Key: f.Key})
		if err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			now := &s.current().certificate
			if asked.SupportsCertificate(now) != nil {
				return new(tls.Certificate), nil // the server wants none like it
			}
			return now, nil
		}
	}
	if f.CA == "" {
		return config, nil
	}
	authorities, err := ReadCertificates(f.CA)
	if err != nil {
		return nil, &FileError{"ca", f.CA, err}
	}
	config.RootCAs = x509.NewCertPool()
	for _, c := range authorities {
		config.RootCAs.AddCert(c)
	}
	return config, nil
}
