package safedial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// hostile are targets that must be refused unless the operator allows them.
var hostile = []struct {
	url   string // the URL that a caller registers
	means string // the addresses that the name resolves to
	allow string // the narrowest rule that allows it; empty if none does
}{
	// Loopback and this host.
	{url: "http://127.0.0.1/", allow: "127.0.0.1"},
	{url: "http://127.0.0.1:8080/hook", allow: "127.0.0.1:8080"},
	{url: "https://127.255.255.254/", allow: "loopback"},
	{url: "http://[::1]/", allow: "::1"},
	{url: "http://[::1]:9000/", allow: "[::1]:9000"},
	{url: "http://[0:0:0:0:0:0:0:1]/", allow: "loopback"},
	{url: "http://[::ffff:127.0.0.1]/", allow: "127.0.0.1"},
	{url: "http://[::ffff:7f00:1]/", allow: "::ffff:127.0.0.1"},
	{url: "http://[::FFFF:7F00:0001]/", allow: "::ffff:127.0.0.0/104"},
	{url: "http://[::127.0.0.1]/", allow: "::/96"},
	{url: "http://[::ffff:0:127.0.0.1]/", allow: "::ffff:0:0:0/96"},
	{url: "http://0.0.0.0/", allow: "0.0.0.0"},
	{url: "http://0.1.2.3/", allow: "0.0.0.0/8"},
	{url: "http://[::]/", allow: "::"},
	{url: "http://localhost/", means: "127.0.0.1", allow: "localhost"},
	{url: "http://LOCALHOST:80/", means: "127.0.0.1", allow: "localhost:80"},
	{url: "http://localhost./", means: "::1", allow: "localhost"},
	{url: "http://a.b.localhost/", means: "127.0.0.1", allow: "*.localhost"},
	{url: "http://localtest.example/", means: "127.0.0.1", allow: "loopback"},
	{url: "http://both.example/", means: "127.0.0.1,::1", allow: "loopback"},

	// Private and shared networks.
	{url: "http://10.0.0.1/", allow: "10.0.0.0/8"},
	{url: "http://172.16.0.1/", allow: "private"},
	{url: "http://172.31.255.255/", allow: "172.31.255.255"},
	{url: "http://192.168.1.1:8443/", allow: "192.168.0.0/16"},
	{url: "http://[fc00::1]/", allow: "private"},
	{url: "http://[fd12:3456:789a::1]/", allow: "fd12:3456:789a::/48"},
	{url: "http://100.64.0.1/", allow: "100.64.0.0/10"},
	{url: "http://100.127.255.255/", allow: "100.64.0.0/10"},
	{url: "http://redis/", means: "172.18.0.2", allow: "redis"},
	{url: "http://db.internal:5432/", means: "10.1.2.3", allow: "db.internal:5432"},
	{url: "http://printer.local/", means: "192.168.1.9", allow: "*.local"},
	{url: "http://wiki.corp/", means: "10.9.9.9", allow: "private"},
	{url: "http://router.home.arpa/", means: "192.168.0.1", allow: "192.168.0.1"},
	{url: "http://inside.example/", means: "10.0.0.7", allow: "inside.example"},
	{url: "http://deep.inside.example/", means: "fd00::7", allow: "*.inside.example"},

	// Link-local and metadata.
	{url: "http://169.254.1.1/", allow: "169.254.0.0/16"},
	{url: "http://[fe80::1]/", allow: "fe80::/10"},
	{url: "http://[fe80::1%25lo]/", allow: "fe80::1"},
	{url: "http://169.254.169.254/latest/meta-data/", allow: "169.254.169.254"},
	{url: "http://[::ffff:169.254.169.254]/", allow: "169.254.169.254/32"},
	{url: "http://[fd00:ec2::254]/", allow: "fd00:ec2::254"},
	{url: "http://[fd20:ce::254]/", allow: "fd20:ce::254"},
	{url: "http://100.100.100.200/", allow: "100.100.100.200:80"},
	{url: "http://168.63.129.16/", allow: "168.63.129.16"},
	{url: "http://192.0.0.192/", allow: "192.0.0.192"},
	{url: "http://169.254.170.2/v2/credentials", allow: "169.254.170.2"},
	{url: "http://metadata.google.internal/", means: "169.254.169.254", allow: "169.254.169.254"},
	{url: "http://metadata/computeMetadata/v1/", means: "169.254.169.254", allow: "all"},

	// Addresses that embed others.
	{url: "http://[64:ff9b::127.0.0.1]/", allow: "64:ff9b::7f00:1"},
	{url: "http://[64:ff9b::a00:1]/", allow: "64:ff9b::/96"},
	{url: "http://[64:ff9b::a9fe:a9fe]/", allow: "64:ff9b::a9fe:a9fe"},
	{url: "http://[64:ff9b:1::1]/", allow: "64:ff9b:1::/48"},
	{url: "http://[2002:7f00:1::]/", allow: "2002:7f00:1::"},
	{url: "http://[2002:808:808::1]/", allow: "2002::/16"},
	{url: "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", allow: "2001::/32"},
	{url: "http://[2a00:1450::5efe:10.0.0.1]/", allow: "2a00:1450::5efe:a00:1"},
	{url: "http://[2a00:1450::200:5efe:127.0.0.1]/", allow: "2a00:1450::/32"},

	// Addresses that are neither public nor private.
	{url: "http://192.0.0.8/", allow: "192.0.0.0/24"},
	{url: "http://192.0.2.1/", allow: "192.0.2.0/24"},
	{url: "http://198.51.100.7/", allow: "198.51.100.7"},
	{url: "http://203.0.113.9/", allow: "203.0.113.0/24"},
	{url: "http://192.88.99.1/", allow: "192.88.99.1"},
	{url: "http://198.18.0.1/", allow: "198.18.0.0/15"},
	{url: "http://198.19.255.255/", allow: "198.18.0.0/15"},
	{url: "http://224.0.0.1/", allow: "224.0.0.0/4"},
	{url: "http://239.255.255.250/", allow: "239.255.255.250"},
	{url: "http://240.0.0.1/", allow: "240.0.0.0/4"},
	{url: "http://255.255.255.255/", allow: "255.255.255.255"},
	{url: "http://[ff02::1]/", allow: "ff00::/8"},
	{url: "http://[fec0::1]/", allow: "fec0::/10"},
	{url: "http://[100::1]/", allow: "100::/64"},
	{url: "http://[2001:2::1]/", allow: "2001:2::/48"},
	{url: "http://[2001:10::1]/", allow: "2001:10::/28"},
	{url: "http://[2001:20::1]/", allow: "2001:20::/28"},
	{url: "http://[2001:db8::1]/", allow: "2001:db8::/32"},
	{url: "http://[3fff::1]/", allow: "3fff::/20"},
	{url: "http://[5f00::1]/", allow: "5f00::/16"},
	{url: "http://[4000::1]/", allow: "4000::/3"},

	// Spellings that programs disagree about: refused, whatever is allowed.
	{url: "http://2130706433/"},
	{url: "http://0x7f000001/"},
	{url: "http://0X7F.1/"},
	{url: "http://017700000001/"},
	{url: "http://0177.0.0.1/"},
	{url: "http://127.1/"},
	{url: "http://127.0.1/"},
	{url: "http://127.0.0.01/"},
	{url: "http://127.0.0.1./"},
	{url: "http://10.0.0.0x1/"},
	{url: "http://256.256.256.256/"},
	{url: "http://0/"},
	{url: "http://１２７.0.0.1/"},
	{url: "http://127。0。0。1/"},
	{url: "http://①②⑦.0.0.1/"},
	{url: "http://ⓛocalhost/"},
	{url: "http://%31%32%37.0.0.1/"},
	{url: "http://%6c%6f%63alhost/"},
	{url: "http://127.0.0.1%00.example.org/"},
	{url: "http://127.0.0.1\x00.example.org/"},
	{url: "http://[::1%25lo]/"},
	{url: "http://[127.0.0.1]/"},
	{url: "http://[localhost]/"},
	{url: "http://::1/"},
	{url: "http:\\\\127.0.0.1/"},
	{url: "http://example.org\\@127.0.0.1/"},
	{url: "http://example.org@127.0.0.1/"},
	{url: "http://127.0.0.1@example.org/"},
	{url: "http://127.0.0.1 .example.org/"},
	{url: "http://127.0.0.1\t/"},
	{url: "http://127.0.0.1\r\nHost: example.org/"},
	{url: "http://127.0.0.1#@example.org/"},
	{url: "http:///127.0.0.1/"},
	{url: "http:127.0.0.1/"},
	{url: "//127.0.0.1/"},
	{url: "127.0.0.1/hook"},
	{url: "http://127.0.0.1:0/"},
	{url: "http://127.0.0.1:65536/"},
	{url: "http://127.0.0.1:/"},
	{url: "http://127.0.0.1:-1/"},
	{url: "http://127.0.0.1:80:80/"},
	{url: "file:///etc/passwd"},
	{url: "gopher://127.0.0.1:6379/_INFO"},
	{url: "unix:/var/run/docker.sock"},
	{url: "http+unix://%2Fvar%2Frun%2Fdocker.sock/"},
	{url: "http://a..b.example/"},
	{url: "http://-a.example/"},
	{url: "http://*/"},
	{url: "http://" + strings.Repeat("a", 64) + ".example/"},
	{url: "http://" + strings.Repeat("a.", 130) + "example/"},
	{url: "https://example.org/" + strings.Repeat("a", maxURL)},
	{url: ""},
}

// errAllowed ends a dial that was allowed.
var errAllowed = errors.New("allowed")

// tryDial returns the dialer's error for a URL, without connecting.
func tryDial(t *testing.T, p *Policy, raw, means string) error {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Dialer()
	d.Control = func(context.Context, string, string, syscall.RawConn) error { return errAllowed }
	if means != "" {
		d.Resolver = resolver(t, strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))+"="+means)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := u.Hostname()
	if means != "" && !strings.HasSuffix(host, ".") {
		host += "." // no search list
	}
	_, err = d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
	return err
}

func TestHostileTargetsAreRefused(t *testing.T) {
	t.Parallel()
	var strict *Policy
	for _, tt := range hostile {
		err := strict.CheckURL(tt.url)
		switch {
		case tt.allow == "":
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("CheckURL(%q) = %v, want ErrInvalid", tt.url, err)
			}
			continue
		case tt.means == "" || localName(strings.Trim(mustHost(t, tt.url), ".")):
			if !errors.Is(err, ErrForbidden) {
				t.Errorf("CheckURL(%q) = %v, want ErrForbidden", tt.url, err)
			}
		case err != nil:
			t.Errorf("CheckURL(%q) = %v, want the dialer to decide", tt.url, err)
		}
		// The name server is never asked for localhost: the system resolves it.
		if err := tryDial(t, strict, tt.url, tt.means); !errors.Is(err, ErrForbidden) {
			t.Errorf("dial %q: %v, want ErrForbidden", tt.url, err)
		}
	}
}

func mustHost(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(u.Hostname())
}

func TestHostileTargetsAreAllowedByTheOperator(t *testing.T) {
	t.Parallel()
	for _, tt := range hostile {
		if tt.allow == "" {
			if err := mustParse(t, "all").CheckURL(tt.url); !errors.Is(err, ErrInvalid) {
				t.Errorf("CheckURL(%q) where all is allowed = %v, want ErrInvalid", tt.url, err)
			}
			continue
		}
		for _, rule := range []string{tt.allow, "all"} {
			p := mustParse(t, rule)
			if err := p.CheckURL(tt.url); err != nil {
				t.Errorf("CheckURL(%q) with %q: %v", tt.url, rule, err)
			}
			if err := tryDial(t, p, tt.url, tt.means); !errors.Is(err, errAllowed) {
				t.Errorf("dial %q with %q: %v, want it to be allowed", tt.url, rule, err)
			}
		}
	}
}

func TestRulesAllowNothingBeside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, url, means string }{
		{"127.0.0.1:8080", "http://127.0.0.1:8081/", ""},
		{"127.0.0.1", "http://127.0.0.2/", ""},
		{"127.0.0.1", "http://[::1]/", ""},
		{"loopback", "http://10.0.0.1/", ""},
		{"private", "http://127.0.0.1/", ""},
		{"private", "http://100.64.0.1/", ""},
		{"private", "http://[fd00:ec2::254]/", ""},
		{"0.0.0.0/0", "http://169.254.169.254/", ""},
		{"::/0", "http://[64:ff9b::a9fe:a9fe]/", ""},
		{"::/0", "http://127.0.0.1/", ""},
		{"10.0.0.0/8", "http://[64:ff9b::a00:1]/", ""},
		{"metadata.google.internal", "http://metadata.google.internal/", "169.254.169.254"},
		{"a.example", "http://b.example/", "10.0.0.1"},
		{"a.example", "http://sub.a.example/", "10.0.0.1"},
		{"*.a.example", "http://a.example/", "10.0.0.1"},
		{"*.a.example", "http://nota.example/", "10.0.0.1"},
		{"a.example:443", "http://a.example/", "10.0.0.1"},
		{"a.example", "http://10.0.0.1/", ""},
	} {
		if err := tryDial(t, mustParse(t, tt.rule), tt.url, tt.means); !errors.Is(err, ErrForbidden) {
			t.Errorf("dial %q (%s) with %q: %v, want ErrForbidden", tt.url, tt.means, tt.rule, err)
		}
	}
}

// Registration accepts a local name once an internal address is allowed, because it resolves nothing.
// The connection then needs a rule for the address and the port.
func TestLocalNamesAreLeftToTheDialer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, url      string
		register, dial bool
	}{
		{"", "http://localhost:8080/", false, false},
		{"a.example", "http://localhost:8080/", false, false},
		{"127.0.0.1:8080", "http://localhost:8080/", true, true},
		{"127.0.0.1:8080", "http://localhost:8081/", true, false},
		{"10.0.0.0/8", "http://localhost:8080/", true, false},
	} {
		p := new(Policy)
		if tt.rule != "" {
			p = mustParse(t, tt.rule)
		}
		if err := p.CheckURL(tt.url); (err == nil) != tt.register || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("CheckURL(%q) with %q = %v, want acceptance %t", tt.url, tt.rule, err, tt.register)
		}
		if err := tryDial(t, p, tt.url, "127.0.0.1"); errors.Is(err, errAllowed) != tt.dial {
			t.Errorf("dial %q with %q: %v, want permission %t", tt.url, tt.rule, err, tt.dial)
		}
	}
}

func TestPublicTargetsAreAllowed(t *testing.T) {
	t.Parallel()
	for raw, means := range map[string]string{
		"https://hooks.example.org/a2a?token=x%20y": "93.184.216.34",
		"http://hooks.example.org:8080":             "2606:2800:220:1:248:1893:25c8:1946",
		"https://8.8.8.8/":                          "",
		"https://[2606:4700:4700::1111]:8443/x":     "",
		"https://XN--MNCHEN-3YA.example/":           "1.1.1.1",
		"https://under_score.example./":             "9.9.9.9",
		"https://1.example/":                        "9.9.9.9",
		"https://dns64.example/":                    "64:ff9b::808:808",
		"https://0x7f.example/":                     "9.9.9.9",
	} {
		var strict *Policy
		if err := strict.CheckURL(raw); err != nil {
			t.Errorf("CheckURL(%q) = %v", raw, err)
		}
		if err := tryDial(t, strict, raw, means); !errors.Is(err, errAllowed) {
			t.Errorf("dial %q: %v, want it to be allowed", raw, err)
		}
	}
}

func TestHTTPSCanBeRequired(t *testing.T) {
	t.Parallel()
	p := &Policy{HTTPS: true}
	if err := p.CheckURL("http://hooks.example.org/"); !errors.Is(err, ErrInvalid) {
		t.Errorf("CheckURL of an http URL = %v, want ErrInvalid", err)
	}
	if err := p.CheckURL("https://hooks.example.org/"); err != nil {
		t.Errorf("CheckURL of an https URL = %v", err)
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"", " ", "*", "10.0.0.1/8", "10.0.0.0/33", "10.0.0/8", "http://example.org", "example.org/path", "a b",
		"example.org:0", "example.org:65536", "example.org:http", ":80", "127.1", "2130706433", "*.*.example", "münchen.example",
		"[::1", "*", "a..b", "-a",
	} {
		if p, err := ParsePolicy([]string{"loopback", rule}); err == nil {
			t.Errorf("ParsePolicy(%q) = %+v, want an error", rule, p)
		}
	}
}

func TestUnresolvableAddressesAreNotDialed(t *testing.T) {
	t.Parallel()
	d := new(Dialer)
	for _, tt := range []struct{ network, address string }{
		{"unix", "/var/run/docker.sock"}, {"udp", "8.8.8.8:53"}, {"tcp", "8.8.8.8"}, {"tcp", ":80"}, {"tcp", "8.8.8.8:http"},
	} {
		conn, err := d.DialContext(t.Context(), tt.network, tt.address)
		if conn != nil || !errors.Is(err, ErrForbidden) && !errors.Is(err, ErrInvalid) {
			t.Errorf("dial %s %s: %v, want it to be refused", tt.network, tt.address, err)
		}
	}
	if err := d.control(t.Context(), target{"x", 1}, "tcp", "garbage", nil); !errors.Is(err, ErrForbidden) {
		t.Errorf("control of garbage: %v, want ErrForbidden", err)
	}
}

func TestKindsOfInvalidAddresses(t *testing.T) {
	t.Parallel()
	if got := kindOf(netip.Addr{}); got == "" {
		t.Error("no address at all is public")
	}
}
