package httpcall

import (
	"strings"
	"testing"
)

// FuzzParseURL checks that every parsed URL has a host, and that a host other than this machine
// is called without TLS only if the URL states http.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"localhost:80", "127.0.0.1:80@evil.example", "[::1]:80/x", "a.localhost", "http://a/#b", "//a", "https://", "ftp://a",
		"localhost#@evil.example", "localhost?@evil.example", "127.0.0.1\\@evil.example", "evil.example:80/localhost", "::1", "http:/a", "%6c:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			return
		}
		if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
			t.Errorf("ParseURL(%q) = %+v", raw, u)
		}
		if u.Scheme == "http" && !strings.Contains(raw, "://") && !Loopback(u.Host) {
			t.Errorf("ParseURL(%q) calls %s without TLS", raw, u.Host)
		}
	})
}
