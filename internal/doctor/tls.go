package doctor

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// TLS describes the certificates of a hub's listeners.
type TLS struct {
	// Leaf is the certificate. If it is invalid, Leaf is nil, and Problem is the reason.
	Leaf    *x509.Certificate
	Problem string
	// Authorities is the number of authorities of client certificates.
	Authorities int
	// Lists are the revocation lists of these authorities. Unlisted are the names of the
	// authorities without a list, if others have one.
	Lists    []RevocationList
	Unlisted []string
	// Rules is the number of rules that map certificates to callers, and Wide the number of
	// those without an authority of their own.
	Rules, Wide int
}

// RevocationList describes the revocation list of an authority.
type RevocationList struct {
	// Authority is the subject of the authority.
	Authority string
	// Ends is the time when the next list is due; zero if the list has none.
	Ends time.Time
	// Revoked is the number of certificates on it.
	Revoked int
}

// rules returns the number of rules that map certificates to callers.
func (f *Facts) rules() int {
	if f.TLS == nil {
		return 0
	}
	return f.TLS.Rules
}

// secured returns the transport findings of a hub that uses TLS itself.
func secured(f *Facts) []Finding {
	t := f.TLS
	if t.Leaf == nil {
		return []Finding{{Wrong, "tls", "the hub will not start: " + t.Problem, "check tls.cert, tls.key, tls.client_ca and tls.client_crl"}}
	}
	out := append(lifetime(f), named(f)...)
	out = append(append(out, clients(t)...), revoked(f)...)
	if len(out) == 0 {
		out = append(out, Finding{OK, "tls", "the certificate is valid until " + t.Leaf.NotAfter.Format(time.DateOnly), ""})
	}
	return out
}

func lifetime(f *Facts) []Finding {
	const advice = "replace it: the hub reads the new one without a restart"
	switch leaf := f.TLS.Leaf; {
	case f.Now.After(leaf.NotAfter):
		return []Finding{{Wrong, "tls", "the certificate expired on " + leaf.NotAfter.Format(time.DateOnly), advice}}
	case f.Now.Before(leaf.NotBefore):
		return []Finding{{Wrong, "tls", "the certificate is not valid before " + leaf.NotBefore.Format(time.RFC3339), "set the clock, or " + advice}}
	case leaf.NotAfter.Sub(f.Now) < soon && leaf.NotAfter.Sub(leaf.NotBefore) > 2*soon:
		return []Finding{{Weak, "tls", "the certificate expires on " + leaf.NotAfter.Format(time.DateOnly), advice}}
	}
	return nil
}

// named returns the finding on whether the certificate is valid for the host in cards.
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
		return []Finding{{Wrong, "tls", "cards name " + f.PublicURL + ", but the hub uses TLS", "name its address with public_url: https://…"}}
	case f.TLS.Leaf.VerifyHostname(u.Hostname()) != nil:
		return []Finding{{
			Wrong, "tls", fmt.Sprintf("cards name %s, but the certificate is for %s: callers reject it", u.Hostname(), hosts(f.TLS.Leaf)),
			"get a certificate for " + u.Hostname() + ", or put a proxy with one in front",
		}}
	}
	return nil
}

// hosts returns the names that a certificate is valid for.
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

// listSoon is the time before its end at which a revocation list should have been replaced.
const listSoon = 6 * time.Hour

// revoked returns the findings about revocation lists.
func revoked(f *Facts) []Finding {
	const advice = "put the authority's current list into tls.client_crl: the hub reads it without a restart"
	var out []Finding
	for _, l := range f.TLS.Lists {
		switch {
		case l.Ends.IsZero():
		case f.Now.After(l.Ends):
			out = append(out, Finding{Wrong, "tls", fmt.Sprintf(
				"the revocation list of %s expired at %s: its certificates are rejected", l.Authority, l.Ends.Format(time.RFC3339)), advice})
		case l.Ends.Sub(f.Now) < listSoon:
			out = append(out, Finding{Weak, "tls", fmt.Sprintf(
				"the revocation list of %s expires at %s: its certificates are rejected after that", l.Authority, l.Ends.Format(time.RFC3339)), advice})
		}
	}
	for _, name := range f.TLS.Unlisted {
		out = append(out, Finding{Weak, "tls", "the authority " + name + " has no list in tls.client_crl: certificates that it has revoked are accepted", advice})
	}
	return out
}

func clients(t *TLS) []Finding {
	switch {
	case t.Authorities > 0 && t.Rules == 0:
		return []Finding{{
			Weak, "tls", "callers may send certificates, but no rule names their principals", "add rules to auth.certificates, or remove tls.client_ca",
		}}
	case t.Authorities > 1 && t.Wide > 0:
		return []Finding{{
			Weak, "tls", fmt.Sprintf("%d rules of auth.certificates accept each of %d authorities: one may issue names that belong to another", t.Wide, t.Authorities),
			"give each rule its ca",
		}}
	}
	return nil
}
