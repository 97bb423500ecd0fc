package safedial

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Policy defines the addresses that may be dialed on behalf of untrusted parties. The zero
// Policy, and a nil *Policy, allow public unicast addresses only. Its fields must not change
// after the first use.
type Policy struct {
	// HTTPS refuses http URLs.
	HTTPS bool

	all   bool
	addrs []addrRule
	names []nameRule
}

// addrRule allows addresses, whatever names they were resolved from.
type addrRule struct {
	netip.Prefix
	port uint16 // 0 means any
}

// nameRule allows all addresses of a name.
type nameRule struct {
	name  string // without a final dot, in lower case
	below bool   // names below name, and not name itself
	port  uint16 // 0 means any
}

// ParsePolicy returns the policy that allows public addresses and those that the rules of an
// operator name:
//
//	10.1.2.3, fd00::7        an address
//	10.1.0.0/16              a range of addresses
//	hooks.example.internal   a host name, whatever it resolves to
//	*.example.internal       all host names below a name
//	10.1.2.3:8080, [fd00::7]:8080, hooks.example.internal:8080   the same on one port
//	loopback                 127.0.0.0/8 and ::1
//	private                  10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and fc00::/7
//	all                      every address
//
// The metadata addresses of clouds are allowed by "all" and by their own rule only.
func ParsePolicy(rules []string) (*Policy, error) {
	p := new(Policy)
	for _, rule := range rules {
		if err := p.add(strings.ToLower(strings.TrimSpace(rule))); err != nil {
			return nil, fmt.Errorf("allow %q: %w", rule, err)
		}
	}
	return p, nil
}

func (p *Policy) add(rule string) error {
	switch rule {
	case "all":
		p.all = true
	case "loopback":
		p.allow(loopback...)
	case "private":
		p.allow(private...)
	case "":
		return fmt.Errorf("the rule is empty")
	case "*":
		return fmt.Errorf(`write "all" to allow every address`)
	default:
		return p.parse(rule)
	}
	return nil
}

func (p *Policy) allow(prefixes ...netip.Prefix) {
	for _, prefix := range prefixes {
		p.addrs = append(p.addrs, addrRule{Prefix: prefix})
	}
}

func (p *Policy) parse(rule string) error {
	if strings.Contains(rule, "://") {
		return fmt.Errorf("a rule names a host, not a URL: omit the scheme and the path")
	}
	if strings.Contains(rule, "/") {
		prefix, err := parsePrefix(rule)
		if err == nil {
			p.allow(prefix)
		}
		return err
	}
	host, port, err := splitRule(rule)
	if err != nil {
		return err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = plain(a)
		p.addrs = append(p.addrs, addrRule{netip.PrefixFrom(a, a.BitLen()), port})
		return nil
	}
	name, below := strings.CutPrefix(host, "*.")
	name = strings.TrimSuffix(name, ".")
	if why := badName(name); why != "" {
		return fmt.Errorf("no host name: %s", why)
	}
	p.names = append(p.names, nameRule{name, below, port})
	return nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return prefix, fmt.Errorf("write a range as in 10.1.0.0/16 or fd00::/8")
	}
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	if m := prefix.Masked(); m != prefix {
		return prefix, fmt.Errorf("the address has bits outside of the range: write %s, or %s for one address", m, prefix.Addr())
	}
	return prefix, nil
}

// splitRule splits "host", "host:port", "[ip]:port" and a bare IPv6 address.
func splitRule(rule string) (host string, port uint16, err error) {
	if _, err := netip.ParseAddr(rule); err == nil || !strings.Contains(rule, ":") {
		return rule, 0, nil
	}
	host, digits, err := net.SplitHostPort(rule)
	if err != nil {
		return "", 0, fmt.Errorf("write host, host:port or [address]:port")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("port %q is not between 1 and 65535", digits)
	}
	return host, uint16(n), nil
}

// target is a requested host and port.
type target struct {
	host string // as written
	port uint16
}

// check returns a Refusal unless t may be reached at an address.
func (p *Policy) check(t target, addr netip.Addr) error {
	a := plain(addr)
	kind := kindOf(a)
	if kind == "" || p != nil && (p.all || p.allows(t.port, a, kind) || kind != metadataKind && p.named(t)) {
		return nil
	}
	return &Refusal{Host: t.host, Addr: addr, Kind: kind}
}

// allows reports whether a rule about addresses allows a.
func (p *Policy) allows(port uint16, a netip.Addr, kind string) bool {
	return slices.ContainsFunc(p.addrs, func(r addrRule) bool {
		return r.Contains(a) && (r.port == 0 || r.port == port) && (kind != metadataKind || r.IsSingleIP())
	})
}

// named reports whether a rule about names allows t.
func (p *Policy) named(t target) bool {
	host := strings.ToLower(strings.TrimSuffix(t.host, "."))
	return slices.ContainsFunc(p.names, func(r nameRule) bool {
		if r.port != 0 && r.port != t.port {
			return false
		}
		return !r.below && host == r.name || r.below && strings.HasSuffix(host, "."+r.name)
	})
}

// inside reports whether a rule allows any internal address.
func (p *Policy) inside() bool { return p != nil && (p.all || len(p.addrs) > 0) }
