package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ReadCertificates returns the certificates of a PEM file, at least one.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	text, err := readFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	return parseCertificates(text)
}

// parseCertificates returns the certificates in text and skips blocks of other kinds.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d is unreadable: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("has no certificate in PEM")
	}
	return all, nil
}

// ClientFiles are the PEM files of a client: its certificate, and the authorities it trusts.
type ClientFiles struct {
	// Cert and Key are the client's certificate and its private key; empty if it has none.
	Cert, Key string
	// CA are the trusted authorities, instead of the system's.
	CA string
}

// Client returns the config of a client. A renewed certificate is used for connections that
// begin afterwards. The error is a *FileError, whose Which is "cert", "key" or "ca".
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
				return new(tls.Certificate), nil // the server does not accept it
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
