package certificate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// chains verifies a certificate like a listener that trusts the authorities.
func chains(t *testing.T, p *tlstest.Pair, authorities ...*tlstest.Authority) [][]*x509.Certificate {
	t.Helper()
	roots := x509.NewCertPool()
	for _, a := range authorities {
		roots.AddCert(a.Leaf)
	}
	all, err := p.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func uris(t *testing.T, all ...string) []*url.URL {
	t.Helper()
	var out []*url.URL
	for _, one := range all {
		u, err := url.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

// raw returns an extension of alternative names with the given tag and values.
func raw(t *testing.T, tag int, values ...string) []pkix.Extension {
	t.Helper()
	var all []asn1.RawValue
	for _, v := range values {
		all = append(all, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, Bytes: []byte(v)})
	}
	der, err := asn1.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return []pkix.Extension{{Id: oidNames, Value: der}}
}

const (
	spiffe = "spiffe://acme.example/agent/buyer"
	host   = "worker.acme.example"
)

// TestExact tries matching values of each field, and similar ones that must not match.
func TestExact(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewAuthority(t, "acme")
	who := auth.Principal{ID: "buyer", DisplayName: "Buyer", Org: "acme", Roles: []string{"sales"}}
	rule := func(f Field, v string) Rule { return Rule{Field: f, Value: v, Principal: who} }
	for name, tc := range map[string]struct {
		rule Rule
		cert x509.Certificate
		want bool
	}{
		"uri":                    {rule(URI, spiffe), x509.Certificate{URIs: uris(t, spiffe)}, true},
		"one of two uris":        {rule(URI, spiffe), x509.Certificate{URIs: uris(t, "spiffe://a/b", spiffe)}, true},
		"uri, longer":            {rule(URI, spiffe), x509.Certificate{URIs: uris(t, spiffe+"/x")}, false},
		"uri, shorter":           {rule(URI, spiffe), x509.Certificate{URIs: uris(t, spiffe[:len(spiffe)-1])}, false},
		"uri, slash":             {rule(URI, spiffe), x509.Certificate{URIs: uris(t, spiffe+"/")}, false},
		"uri, capital scheme":    {rule(URI, spiffe), x509.Certificate{ExtraExtensions: raw(t, 6, "SPIFFE"+spiffe[6:])}, false},
		"uri, capital host":      {rule(URI, spiffe), x509.Certificate{ExtraExtensions: raw(t, 6, strings.Replace(spiffe, "acme", "ACME", 1))}, false},
		"uri, escaped":           {rule(URI, spiffe), x509.Certificate{ExtraExtensions: raw(t, 6, strings.Replace(spiffe, "buyer", "%62uyer", 1))}, false},
		"uri, query":             {rule(URI, spiffe), x509.Certificate{URIs: uris(t, spiffe+"?admin")}, false},
		"uri, dots":              {rule(URI, spiffe), x509.Certificate{ExtraExtensions: raw(t, 6, "spiffe://acme.example/x/../agent/buyer")}, false},
		"uri in the dns names":   {rule(URI, spiffe), x509.Certificate{ExtraExtensions: raw(t, 2, spiffe)}, false},
		"uri in the common name": {rule(URI, spiffe), x509.Certificate{Subject: pkix.Name{CommonName: spiffe}}, false},
		"dns":                    {rule(DNS, host), x509.Certificate{DNSNames: []string{host}}, true},
		"dns, capitals":          {rule(DNS, host), x509.Certificate{DNSNames: []string{"Worker.acme.example"}}, false},
		"dns, dot":               {rule(DNS, host), x509.Certificate{ExtraExtensions: raw(t, 2, host+".")}, false},
		"dns, NUL":               {rule(DNS, host), x509.Certificate{ExtraExtensions: raw(t, 2, host+"\x00.evil.example")}, false},
		"dns, NUL at the end":    {rule(DNS, host), x509.Certificate{ExtraExtensions: raw(t, 2, host+"\x00")}, false},
		"dns, wildcard":          {rule(DNS, host), x509.Certificate{DNSNames: []string{"*.acme.example"}}, false},
		"dns, below":             {rule(DNS, host), x509.Certificate{DNSNames: []string{"x." + host}}, false},
		"dns, above":             {rule(DNS, host), x509.Certificate{DNSNames: []string{"acme.example"}}, false},
		"dns, space":             {rule(DNS, host), x509.Certificate{ExtraExtensions: raw(t, 2, host+" ")}, false},
		"dns in the common name": {rule(DNS, host), x509.Certificate{Subject: pkix.Name{CommonName: host}}, false},
		"dns in the mail":        {rule(DNS, host), x509.Certificate{ExtraExtensions: raw(t, 1, host)}, false},
		"email":                  {rule(Email, "a@acme.example"), x509.Certificate{EmailAddresses: []string{"a@acme.example"}}, true},
		"email, capitals":        {rule(Email, "a@acme.example"), x509.Certificate{EmailAddresses: []string{"A@acme.example"}}, false},
		"email, longer":          {rule(Email, "a@acme.example"), x509.Certificate{EmailAddresses: []string{"a@acme.example.evil"}}, false},
		"common name":            {rule(CommonName, "Buyer 1"), x509.Certificate{Subject: pkix.Name{CommonName: "Buyer 1"}}, true},
		"common name, organis.":  {rule(CommonName, "Buyer 1"), x509.Certificate{Subject: pkix.Name{Organization: []string{"Buyer 1"}}}, false},
		"common name in dns":     {rule(CommonName, host), x509.Certificate{DNSNames: []string{host}}, false},
		"common name, prefix":    {rule(CommonName, "Buyer"), x509.Certificate{Subject: pkix.Name{CommonName: "Buyer 1"}}, false},
		"nothing in it":          {rule(CommonName, "Buyer"), x509.Certificate{}, false},
		"two common names": {rule(CommonName, "Buyer"), x509.Certificate{Subject: pkix.Name{
			ExtraNames: []pkix.AttributeTypeAndValue{{Type: oidCommonName, Value: "evil"}, {Type: oidCommonName, Value: "Buyer"}},
		}}, false},
	} {
		if err := tc.rule.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Rules{tc.rule}.Certificate(chains(t, ca.Issue(t, tc.cert), ca))
		if tc.want {
			if diff := cmp.Diff(&who, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
			continue
		}
		if !errors.Is(err, ErrCertificate) || !errors.Is(err, auth.ErrUnauthenticated) || got != nil {
			t.Errorf("%s: %+v, %v, want no caller", name, got, err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewAuthority(t, "acme")
	one, other := ca.Issue(t, x509.Certificate{}), ca.Issue(t, x509.Certificate{})
	print, err := ParseFingerprint("SHA256:" + strings.ToUpper(fingerprint(one.Leaf)))
	if err != nil {
		t.Fatal(err)
	}
	r := Rules{{Field: Fingerprint, Value: print, Principal: auth.Principal{ID: "one"}}}
	if p, err := r.Certificate(chains(t, one, ca)); err != nil || p.ID != "one" {
		t.Errorf("its fingerprint: %v, %v", p, err)
	}
	if p, err := r.Certificate(chains(t, other, ca)); err == nil {
		t.Errorf("another certificate is %v", p)
	}
}

// TestAuthorities has two authorities that the listener trusts, and a rule that trusts one of
// them.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	acme, evil := tlstest.NewAuthority(t, "acme"), tlstest.NewAuthority(t, "evil")
	named := x509.Certificate{URIs: uris(t, spiffe)}
	r := Rules{{Field: URI, Value: spiffe, Authorities: []*x509.Certificate{acme.Leaf}, Principal: auth.Principal{ID: "buyer"}}}
	if p, err := r.Certificate(chains(t, acme.Issue(t, named), acme, evil)); err != nil || p.ID != "buyer" {
		t.Errorf("by the authority of the rule: %v, %v", p, err)
	}
	if p, err := r.Certificate(chains(t, evil.Issue(t, named), acme, evil)); err == nil {
		t.Errorf("by another one: %v", p)
	}
	if p, err := r.Certificate(nil); err == nil {
		t.Errorf("without a chain: %v", p)
	}
}

// TestEach maps every certificate of an authority to its own caller.
func TestEach(t *testing.T) {
	t.Parallel()
	acme, evil := tlstest.NewAuthority(t, "acme"), tlstest.NewAuthority(t, "evil")
	for name, tc := range map[string]struct {
		by    *tlstest.Authority
		field Field
		cert  x509.Certificate
		want  string
	}{
		"uri":              {acme, URI, x509.Certificate{URIs: uris(t, spiffe)}, "acme:" + spiffe},
		"dns":              {acme, DNS, x509.Certificate{DNSNames: []string{host}}, "acme:" + host},
		"another uri":      {acme, URI, x509.Certificate{URIs: uris(t, spiffe), DNSNames: []string{host}}, "acme:" + spiffe},
		"two uris":         {acme, URI, x509.Certificate{URIs: uris(t, spiffe, spiffe+"/2")}, ""},
		"none":             {acme, URI, x509.Certificate{DNSNames: []string{host}}, ""},
		"wildcard":         {acme, DNS, x509.Certificate{DNSNames: []string{"*.acme.example"}}, ""},
		"capitals":         {acme, DNS, x509.Certificate{DNSNames: []string{"Worker.acme.example"}}, ""},
		"dot":              {acme, DNS, x509.Certificate{ExtraExtensions: raw(t, 2, host+".")}, ""},
		"NUL":              {acme, DNS, x509.Certificate{ExtraExtensions: raw(t, 2, host+"\x00")}, ""},
		"too long":         {acme, DNS, x509.Certificate{DNSNames: []string{strings.Repeat("a", 260)}}, ""},
		"of another one":   {evil, URI, x509.Certificate{URIs: uris(t, spiffe)}, ""},
		"name with spaces": {acme, CommonName, x509.Certificate{Subject: pkix.Name{CommonName: "a b"}}, ""},
	} {
		rule := Rule{
			Field: tc.field, Name: "acme", Authorities: []*x509.Certificate{acme.Leaf},
			Principal: auth.Principal{Org: "acme", Roles: []string{"partner"}},
		}
		if err := rule.Check(); err != nil {
			t.Fatal(err)
		}
		p, err := Rules{rule}.Certificate(chains(t, tc.by.Issue(t, tc.cert), acme, evil))
		switch {
		case tc.want == "" && err == nil:
			t.Errorf("%s: is %+v, want no caller", name, p)
		case tc.want != "" && (err != nil || p.ID != tc.want || p.Org != "acme" || len(p.Roles) != 1):
			t.Errorf("%s: %+v, %v, want %s", name, p, err, tc.want)
		}
	}
}

// A certificate that expires during a connection is refused.
func TestEndsWithinAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca := tlstest.NewAuthority(t, "acme")
		all := chains(t, ca.Issue(t, x509.Certificate{DNSNames: []string{host}, NotAfter: time.Now().Add(time.Minute)}), ca)
		r := Rules{{Field: DNS, Value: host, Principal: auth.Principal{ID: "worker"}}}
		if _, err := r.Certificate(all); err != nil {
			t.Errorf("while it is good: %v", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if p, err := r.Certificate(all); err == nil {
			t.Errorf("after its end: %v", p)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	who := auth.Principal{ID: "x"}
	for want, r := range map[string]Rule{
		"field: ":                 {Field: "subject", Value: "x", Principal: who},
		"dns: is compared":        {Field: DNS, Value: "*.acme.example", Principal: who},
		"dns: is not a host name": {Field: DNS, Value: "https://acme.example", Principal: who},
		"dns: has a character":    {Field: DNS, Value: "acme.example\x00", Principal: who},
		"uri: is not a URI":       {Field: URI, Value: "acme", Principal: who},
		"email: is not":           {Field: Email, Value: "acme", Principal: who},
		"fingerprint: is not":     {Field: Fingerprint, Value: "abcd", Principal: who},
		"common_name: has":        {Field: CommonName, Value: "a\nb", Principal: who},
		"agent_id: the id of":     {Field: DNS, Value: host},
		"agent_id: the id \"loc":  {Field: DNS, Value: host, Principal: auth.Principal{ID: "local"}},
		"name: is for rules":      {Field: DNS, Value: host, Name: "a", Principal: who},
		"name: must be":           {Field: DNS, Name: "a:b"},
		"agent_id: is for rules":  {Field: DNS, Name: "a", Principal: who},
		"each: a fingerprint":     {Field: Fingerprint, Name: "a"},
		"owner: a rule for many":  {Field: DNS, Name: "a", Principal: auth.Principal{Org: "local"}},
		"roles: a role for work":  {Field: DNS, Name: "a", Principal: auth.Principal{Roles: []string{"bus:x"}}},
		"roles: a role is empty":  {Field: DNS, Name: "a", Principal: auth.Principal{Roles: []string{""}}},
		"roles: a role for worke": {Field: DNS, Value: host, Principal: auth.Principal{ID: "x", Roles: []string{"bus:x"}}},
	} {
		if err := r.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Check(%+v) = %v, want %q", r, err, want)
		}
	}
}

// FuzzNames reads names from arbitrary bytes: reading never fails, and every name found is part
// of the input.
func FuzzNames(f *testing.F) {
	f.Add([]byte{0x30, 3, 0x82, 1, 'a'})
	f.Add([]byte{0x30, 0x80, 0x82, 0xff})
	f.Fuzz(func(t *testing.T, der []byte) {
		for _, name := range names(der, 2) {
			if !strings.Contains(string(der), name) {
				t.Errorf("%q is not in %q", name, der)
			}
		}
	})
}
