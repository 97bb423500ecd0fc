package cli

import (
	"crypto/tls"
	"net/http"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
)

// certFlags are the trusted authorities and the client certificate for TLS.
type certFlags struct {
	CA         string `name:"ca" help:"The authorities to trust over TLS instead of the system's, as PEM ($$PARLEY_CA)." from:"PARLEY_CA" placeholder:"FILE"`
	ClientCert string `name:"client-cert" help:"The certificate to present over TLS, as PEM ($$PARLEY_CLIENT_CERT)." from:"PARLEY_CLIENT_CERT" placeholder:"FILE"`
	ClientKey  string `name:"client-key" help:"The private key of that certificate, as PEM ($$PARLEY_CLIENT_KEY)." from:"PARLEY_CLIENT_KEY" placeholder:"FILE"`
}

// files returns the names of the files; nil if no flag is set.
func (c *certFlags) files() *client.TLS {
	if *c == (certFlags{}) {
		return nil
	}
	return &client.TLS{CertFile: c.ClientCert, KeyFile: c.ClientKey, CAFile: c.CA}
}

// config reads the files. Its errors name the flag. It returns nil if no flag is set.
func (c *certFlags) config() (*tls.Config, error) {
	switch {
	case *c == (certFlags{}):
		return nil, nil
	case (c.ClientCert == "") != (c.ClientKey == ""):
		return nil, usagef("a certificate needs --client-cert and --client-key")
	}
	config, err := tlsfile.Client(tlsfile.ClientFiles{Cert: c.ClientCert, Key: c.ClientKey, CA: c.CA})
	if err != nil {
		return nil, usagef("%w", tlsfile.Named(err, map[string]string{"cert": "--client-cert", "key": "--client-key", "ca": "--ca"}))
	}
	return config, nil
}

// transport returns the default transport with the certificates of the flags.
func (c *certFlags) transport() (*http.Transport, error) {
	config, err := c.config()
	t := http.DefaultTransport.(*http.Transport).Clone()
	if config != nil {
		t.TLSClientConfig = config
	}
	return t, err
}
