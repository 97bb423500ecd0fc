// Package tlstest creates certificates for tests.
//
// # Overview
//
// An [Authority] issues certificates from a template in which a test sets only the fields that
// it depends on. Keys are ECDSA on P-256, which are generated quickly.
//
// # Guarantees
//
// With the defaults for unset fields a certificate is valid: from now for an hour, for servers
// and clients, with a unique serial number.
//
// # Non-guarantees
//
// The certificates follow the template of the test, even if no real authority should issue
// them.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Pair is a certificate with its key.
type Pair struct {
	Leaf *x509.Certificate
	Key  *ecdsa.PrivateKey
	// CertPEM and KeyPEM are the contents of the PEM files.
	CertPEM, KeyPEM []byte
}

// Authority issues certificates.
type Authority struct{ Pair }

var serial atomic.Int64

// NewAuthority creates an authority with a name.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	p, err := Make(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{*p}
}

// Issue issues a certificate from the template.
func (a *Authority) Issue(t testing.TB, template x509.Certificate) *Pair {
	t.Helper()
	if template.ExtKeyUsage == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	p, err := Make(&template, &a.Pair)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Revoke creates a revocation list from the template, in PEM, that contains the revoked
// certificates. By default it is valid for an hour.
func (a *Authority) Revoke(t testing.TB, template x509.RevocationList, revoked ...*Pair) []byte {
	t.Helper()
	if template.ThisUpdate.IsZero() {
		template.ThisUpdate = time.Now().Add(-time.Minute)
	}
	if template.NextUpdate.IsZero() {
		template.NextUpdate = time.Now().Add(time.Hour)
	}
	template.Number = big.NewInt(serial.Add(1))
	for _, p := range revoked {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: p.Leaf.SerialNumber, RevocationTime: template.ThisUpdate,
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, &template, a.Leaf, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// Make creates a certificate that is signed by by, or self-signed if by is nil.
func Make(template *x509.Certificate, by *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := *template
	c.SerialNumber = big.NewInt(serial.Add(1))
	if c.NotBefore.IsZero() {
		c.NotBefore = time.Now().Add(-time.Minute)
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := &c, key
	if by != nil {
		parent, signer = by.Leaf, by.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &Pair{
		Leaf: leaf, Key: key,
		CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}, nil
}

// TLS returns the pair in the form for a TLS configuration.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Leaf.Raw}, PrivateKey: p.Key, Leaf: p.Leaf}
}

// Pool returns a pool that contains only this certificate.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Leaf)
	return pool
}

// Write writes NAME.pem and NAME.key into a folder and returns their paths.
func (p *Pair) Write(t testing.TB, dir, name string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for path, text := range map[string][]byte{cert: p.CertPEM, key: p.KeyPEM} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
