package cli

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

type issuersKey struct{}

// certificate creates a certificate and its key: certificate NAME [by=CA] [uri=…] [dns=…]
// [for=DURATION] writes NAME.pem and NAME.key. by names an earlier certificate as the
// authority. Without by, the certificate is for 127.0.0.1 and its own authority.
func certificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: certificate NAME [by=CA] [uri=…] [dns=…] [for=DURATION]")
	}
	issuers := ts.Value(issuersKey{}).(map[string]*tlstest.Pair)
	var by *tlstest.Pair
	c := &x509.Certificate{Subject: pkix.Name{CommonName: args[0]}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().AddDate(0, -6, 0)}
	for _, arg := range args[1:] {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "by":
			if by = issuers[value]; by == nil {
				ts.Fatalf("no certificate %s was made", value)
			}
		case "uri":
			u, err := url.Parse(value)
			ts.Check(err)
			c.URIs = append(c.URIs, u)
		case "dns":
			c.DNSNames = append(c.DNSNames, value)
		case "for":
			d, err := time.ParseDuration(value)
			ts.Check(err)
			c.NotAfter = time.Now().Add(d)
		default:
			ts.Fatalf("certificate: %s is not known", arg)
		}
	}
	if by == nil {
		c.IsCA, c.BasicConstraintsValid = true, true
	}
	p, err := tlstest.Make(c, by)
	ts.Check(err)
	issuers[args[0]] = p
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pem"), p.CertPEM, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".key"), p.KeyPEM, 0o600))
}
