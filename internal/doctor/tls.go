package doctor

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// TLS is what the listeners of a hub show.
type TLS struct {
	// Leaf is the certificate. If it cannot be used, it is nil, and Problem says why.
	Leaf    *x509.Certificate
	Problem string
	// Authorities is how many there are whose certificates callers may show.
	Authorities int
	// Rules is how many rules say who calls with a certificate, and Wide how many of them
	// name no authority of their own.
	Rules, Wide int
}

// rules is how many rules say who calls with a certificate.
func (f *Facts) rules() int {
	if f.TLS == nil {
		return 0
	}
	return f.TLS.Rules
}

// secured is transport for a hub that speaks TLS itself.
func secured(f *Facts) []Finding {
	t := f.TLS
	if t.Leaf == nil {
		return []Finding{{Wrong, "tls", "the hub will not start: " + t.Problem, "see that tls.cert, tls.key and tls.client_ca are right"}}
	}
	out := append(lifetime(f), named(f)...)
	out = append(out, clients(t)...)
	if len(out) == 0 {
		out = append(out, Finding{OK, "tls", "callers are shown a certificate that is good until " + t.Leaf.NotAfter.Format(time.DateOnly), ""})
	}
	return out
}

// lifetime says what is wrong with the time of the certificate.
func lifetime(f *Facts) []Finding {
	const advice = "put a new one in its place: the hub takes it without a restart"
	switch leaf := f.TLS.Leaf; {
	case f.Now.After(leaf.NotAfter):
		return []Finding{{Wrong, "tls", "the certificate has ended on " + leaf.NotAfter.Format(time.DateOnly), advice}}
	case f.Now.Before(leaf.NotBefore):
		return []Finding{{Wrong, "tls", "the certificate is not good before " + leaf.NotBefore.Format(time.RFC3339), "set the clock, or " + advice}}
	case leaf.NotAfter.Sub(f.Now) < soon && leaf.NotAfter.Sub(leaf.NotBefore) > 2*soon:
		return []Finding{{Weak, "tls", "the certificate ends on " + leaf.NotAfter.Format(time.DateOnly), advice}}
	}
	return nil
}

// named says whether the certificate is for the name that cards have.
func named(f *Facts) []Finding {
	u, err := url.Parse(f.PublicURL)
	switch {
	case f.PublicURL == "" && len(f.public()) > 0:
		return []Finding{{
			Weak, "tls", "cards name the address that each request was sent to", "name the address of the hub with public_url: https://…",
		}}
	case f.PublicURL == "":
		return nil
	case err != nil || u.Scheme != "https":
		return []Finding{{Wrong, "tls", "cards name " + f.PublicURL + ", and the hub speaks TLS", "name its address with public_url: https://…"}}
	case f.TLS.Leaf.VerifyHostname(u.Hostname()) != nil:
		return []Finding{{
			Wrong, "tls", fmt.Sprintf("cards name %s, and the certificate is for %s: callers refuse it", u.Hostname(), hosts(f.TLS.Leaf)),
			"have one made for " + u.Hostname() + ", or let a proxy with such a one stand there",
		}}
	}
	return nil
}

// hosts are the names that a certificate is for.
func hosts(leaf *x509.Certificate) string {
	all := append([]string(nil), leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return strings.Join(all, ", ")
}

// clients says what is weak about the certificates of callers.
func clients(t *TLS) []Finding {
	switch {
	case t.Authorities > 0 && t.Rules == 0:
		return []Finding{{
			Weak, "tls", "callers may show certificates, and nothing says who they are", "name them in auth.certificates, or take out tls.client_ca",
		}}
	case t.Authorities > 1 && t.Wide > 0:
		return []Finding{{
			Weak, "tls", fmt.Sprintf("%d rules of auth.certificates believe each of %d authorities: one may issue the names of another's", t.Wide, t.Authorities),
			"give each rule its ca",
		}}
	}
	return nil
}
