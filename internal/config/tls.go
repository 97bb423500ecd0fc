package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/secret/certificate"
)

// TLS configures the certificates of the HTTP and gRPC listeners, as PEM files. The zero value
// disables TLS.
type TLS struct {
	// Cert is the file of the certificate, followed by its chain, and Key is the file of its
	// private key. Changed files are read again.
	Cert string `yaml:"cert" path:"yes"`
	Key  string `yaml:"key" path:"yes"`
	// ClientCA is a file with the authorities for client certificates.
	ClientCA string `yaml:"client_ca" path:"yes"`
	// ClientCRL is a file with revocation lists of these authorities. A changed file is read
	// again.
	ClientCRL string `yaml:"client_crl" path:"yes"`
	// Clients selects whether each connection requires a client certificate. The default is
	// optional.
	Clients string `yaml:"clients" enum:"optional,required"`
	// HSTS is how long browsers use TLS alone for the host of the hub, on all of its ports. Zero
	// does not ask them to.
	HSTS Duration `yaml:"hsts"`
}

// On reports whether listeners use TLS.
func (t *TLS) On() bool { return t.Cert != "" }

// Files returns the files of the listeners.
func (t *TLS) Files() tlsfile.Files {
	return tlsfile.Files{Cert: t.Cert, Key: t.Key, ClientCA: t.ClientCA, ClientCRL: t.ClientCRL, Required: t.Clients == "required"}
}

// CertificateRule maps client certificates of tls.client_ca to a caller: the certificate with a
// given name, or, with each and name, all certificates of an authority.
type CertificateRule struct {
	// URI, DNS, Email, CommonName and Fingerprint select a certificate exactly: by an
	// alternative name, the common name of its subject, or its SHA-256. A rule has one of them,
	// or Each.
	URI         string `yaml:"uri"`
	DNS         string `yaml:"dns"`
	Email       string `yaml:"email"`
	CommonName  string `yaml:"common_name"`
	Fingerprint string `yaml:"fingerprint"`
	// Each accepts every certificate of CA that has one name of this kind; its holder gets the
	// id "name:VALUE".
	Each string `yaml:"each" enum:"uri,dns,email,common_name"`
	// Name is the prefix of caller ids with Each.
	Name string `yaml:"name"`
	// CA is a file with the only authorities that the rule accepts. It is required with Each.
	// It is read when the hub starts.
	CA string `yaml:"ca" path:"yes"`
	// AgentID identifies the caller. It is required without Each, and must not be "local".
	AgentID string `yaml:"agent_id"`
	// DisplayName is shown to users. The default is the agent_id.
	DisplayName string `yaml:"display_name"`
	// Roles are names that policies refer to. An admin may change the hub.
	Roles []string `yaml:"roles"`
	// Owner is the organisation that owns the caller's tasks instead of the caller.
	Owner string `yaml:"owner"`
	// Owners are the organisations of the caller, as an alternative to Owner.
	Owners []string `yaml:"owners"`
}

// CertificateRules returns the rules with the authorities of their files.
func (a *Auth) CertificateRules() (certificate.Rules, error) {
	var rules certificate.Rules
	for n := range a.Certificates {
		c := &a.Certificates[n]
		r, err := c.rule()
		if err != nil {
			return nil, fmt.Errorf("auth.certificates[%d].%w", n, err)
		}
		if c.CA != "" {
			if r.Authorities, err = tlsfile.ReadCertificates(c.CA); err != nil {
				return nil, fmt.Errorf("auth.certificates[%d].ca: %s: %w", n, c.CA, err)
			}
		}
		rules = append(rules, *r)
	}
	return rules, nil
}

// rule returns the rule of c without its authorities; the error begins with a key.
func (c *CertificateRule) rule() (*certificate.Rule, error) {
	r := &certificate.Rule{Name: c.Name, Principal: auth.Principal{
		ID: c.AgentID, DisplayName: c.DisplayName, Org: c.Owner, Roles: c.Roles,
	}}
	if err := belongs(&r.Principal, c.Owners); err != nil {
		return nil, err
	}
	if slices.Contains(c.Owners, localOwner) {
		return nil, fmt.Errorf("owners: no caller with a certificate becomes the owner %q", localOwner)
	}
	given := 0
	for _, f := range []struct {
		field certificate.Field
		value string
	}{
		{certificate.URI, c.URI},
		{certificate.DNS, c.DNS},
		{certificate.Email, c.Email},
		{certificate.CommonName, c.CommonName},
		{certificate.Fingerprint, c.Fingerprint},
	} {
		if f.value != "" {
			given++
			r.Field, r.Value = f.field, f.value
		}
	}
	if c.Each != "" {
		given++
		r.Field = certificate.Field(c.Each)
	}
	if given != 1 {
		return nil, errors.New("each: a rule has one of uri, dns, email, common_name, fingerprint and each")
	}
	if c.Each != "" && c.CA == "" {
		return nil, errors.New("ca: is required: the authority that issued the certificates")
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Field == certificate.Fingerprint {
		r.Value, _ = certificate.ParseFingerprint(r.Value) // already checked
	}
	return r, nil
}

func checkTLS(d *yamlfile.Decoder, t *TLS) {
	inline := false
	for key, value := range map[string]string{"cert": t.Cert, "key": t.Key, "client_ca": t.ClientCA, "client_crl": t.ClientCRL} {
		if strings.Contains(value, "-----BEGIN") {
			d.Problem(nil, "tls."+key, "is a file name, not the file's content")
			inline = true
		}
	}
	switch {
	case inline:
	case (t.Cert == "") != (t.Key == ""):
		d.Problem(nil, "tls", "needs cert and key")
	case t.Cert == "" && (t.ClientCA != "" || t.ClientCRL != "" || t.Clients != ""):
		d.Problem(nil, "tls.cert", "is missing: callers can present certificates only over TLS")
	case t.Cert == "" && t.HSTS != 0:
		d.Problem(nil, "tls.cert", "is missing: without it the hub does not speak TLS")
	case t.Clients == "required" && t.ClientCA == "":
		d.Problem(nil, "tls.client_ca", "is required: the authority whose certificates callers must present")
	case t.ClientCRL != "" && t.ClientCA == "":
		d.Problem(nil, "tls.client_ca", "is required: the authority whose certificates client_crl revokes")
	}
}

// checkCertificates reports rules that are invalid, and pairs of rules for the same
// certificate.
func checkCertificates(d *yamlfile.Decoder, a *Auth) {
	seen, names := make(map[string]int), make(map[string]string)
	for i := range a.Tokens {
		names[a.Tokens[i].Name] = "auth.tokens[" + strconv.Itoa(i) + "]"
	}
	for i := range a.Certificates {
		c, at := &a.Certificates[i], "auth.certificates["+strconv.Itoa(i)+"]"
		r, err := c.rule()
		if err != nil {
			key, what, _ := strings.Cut(err.Error(), ": ")
			d.Problem(nil, yamlfile.Join(at, key), "%s", what)
			continue
		}
		same := string(r.Field) + "\x00" + r.Value + "\x00" + c.CA
		if first, ok := seen[same]; ok {
			d.Problem(nil, at, "names the same certificate as auth.certificates[%d]", first)
		}
		seen[same] = i
		if first, ok := names[c.Name]; ok && c.Name != "" {
			d.Problem(nil, at+".name", "is also used by %s: callers of both would have the same names", first)
		}
		names[c.Name] = at
	}
}

// CheckCertificates returns an error if there are rules for certificates but clients cannot
// send any. It checks the combination of a file and flags.
func (c *Config) CheckCertificates() error {
	if len(c.Auth.Certificates) > 0 && c.TLS.ClientCA == "" {
		return errors.New("auth.certificates: tls.client_ca is missing, so that no caller can present a certificate")
	}
	return nil
}

// KeyFiles returns the files with private keys of certificates.
func (c *Config) KeyFiles() []string {
	all := []string{c.TLS.Key, c.Bus.TLS.Key}
	for i := range c.Agents {
		all = append(all, c.Agents[i].Endpoint.TLS.Key)
	}
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}
