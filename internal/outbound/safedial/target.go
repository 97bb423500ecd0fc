package safedial

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURL is the maximum size of a URL in bytes.
const maxURL = 2048

// CheckURL returns an error for a URL that the policy does not allow, before anything is
// dialed. Names are not resolved: their addresses are checked when they are dialed. The error
// wraps ErrInvalid or is a Refusal; its text is safe for the author of the URL.
func (p *Policy) CheckURL(raw string) error {
	switch i := strings.IndexFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }); {
	case raw == "":
		return invalid("it is empty")
	case len(raw) > maxURL:
		return invalid("it has %d bytes; the maximum is %d", len(raw), maxURL)
	case i >= 0:
		return invalid("it contains %q", raw[i])
	case strings.Contains(raw, "#"):
		return invalid("it has a fragment")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return invalid("it cannot be parsed")
	}
	return p.checkURL(u)
}

func (p *Policy) checkURL(u *url.URL) error {
	secure := p != nil && p.HTTPS
	switch {
	case u.Scheme != "https" && (secure || u.Scheme != "http"):
		if secure {
			return invalid("it must begin with https://")
		}
		return invalid("it must begin with https:// or http://")
	case u.Opaque != "" || u.Host == "":
		return invalid("it has no host")
	case u.User != nil:
		return invalid("it has a user; credentials belong in authentication")
	case strings.HasSuffix(u.Host, ":"):
		return invalid("its port is empty")
	}
	t := target{host: u.Hostname(), port: 443}
	if u.Scheme == "http" {
		t.port = 80
	}
	if s := u.Port(); s != "" {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil || n == 0 {
			return invalid("port %s is not between 1 and 65535", s)
		}
		t.port = uint16(n)
	}
	return p.checkHost(t, strings.HasPrefix(u.Host, "["))
}

// checkHost checks a host before it is resolved.
func (p *Policy) checkHost(t target, bracketed bool) error {
	addr, err := netip.ParseAddr(t.host)
	switch {
	case err == nil && addr.Is6() != bracketed, err != nil && bracketed:
		return invalid("host %q is not an address", t.host)
	case err == nil && addr.Zone() != "" && !addr.IsLinkLocalUnicast():
		return invalid("address %s has a zone", t.host)
	case err == nil:
		return p.check(t, addr)
	}
	name := strings.ToLower(strings.TrimSuffix(t.host, "."))
	if why := badName(name); why != "" {
		return invalid("host %q %s", t.host, why)
	}
	if localName(name) && !p.inside() && !(p != nil && p.named(t)) {
		return &Refusal{Host: t.host, Kind: "a local name"}
	}
	return nil
}

// badName returns the reason why a name in lower case, without a final dot, is not a host name.
// An address in an unusual spelling is not one.
func badName(name string) string {
	labels := strings.Split(name, ".")
	switch last := labels[len(labels)-1]; {
	case len(name) > 253:
		return "is too long"
	case strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) >= 0:
		return "is not ASCII: write it in its xn-- form"
	case slices.ContainsFunc(labels, badLabel):
		return "is not a host name"
	case number(last):
		return "is an address in an unusual spelling: write four decimal numbers"
	}
	return ""
}

func badLabel(label string) bool {
	return label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
		strings.IndexFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) >= 0
}

// number reports whether some program may read a last label as part of an IPv4 address.
func number(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	digits, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(digits, "0123456789abcdef") == ""
}

// localZones are suffixes of names that public name servers never resolve.
var localZones = []string{
	".localhost", ".localdomain", ".local", ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".home.arpa",
}

// localName reports whether a name is always local.
func localName(name string) bool {
	return !strings.Contains(name, ".") ||
		slices.ContainsFunc(localZones, func(zone string) bool { return strings.HasSuffix("."+name, zone) })
}
