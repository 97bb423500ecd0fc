package safedial

import (
	"io"
	"log"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// FuzzCheckURL searches for a literal address, in any reading, that is accepted at registration
// although the dialer would refuse it.
func FuzzCheckURL(f *testing.F) {
	for _, tt := range hostile {
		f.Add(tt.url)
	}
	f.Add("https://hooks.example.org:8443/a?b=c")
	f.Add("https://8.8.8.8/")
	strict := new(Policy)
	f.Fuzz(func(t *testing.T, raw string) {
		if strict.CheckURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("CheckURL allows %q, which is not a URL: %v", raw, err)
		}
		if u.User != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("CheckURL allows %q", raw)
		}
		for _, a := range readings(u.Hostname()) {
			if err := strict.check(target{u.Hostname(), 80}, a); err != nil {
				t.Errorf("CheckURL allows %q, which may be read as %v", raw, a)
			}
		}
	})
}

// readings returns the addresses that some program may read in a host.
func readings(host string) []netip.Addr {
	var all []netip.Addr
	host = strings.TrimSuffix(host, ".")
	if a, err := netip.ParseAddr(host); err == nil {
		all = append(all, a)
	}
	// Like inet_aton: one to four numbers in three bases, the last one filling the remaining
	// bytes.
	numbers := strings.Split(host, ".")
	if len(numbers) > 4 {
		return all
	}
	var sum uint64
	for i, s := range numbers {
		n, err := inetNumber(strings.ToLower(s))
		if err != nil {
			return all
		}
		if i == len(numbers)-1 {
			sum += n
		} else {
			sum += n << (24 - 8*i)
		}
	}
	v := uint32(sum)
	return append(all, netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}))
}

// inetNumber reads a number as inet_aton does.
func inetNumber(s string) (uint64, error) {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint("0"+digits, 16, 64)
	}
	if digits, ok := strings.CutPrefix(s, "0"); ok {
		return strconv.ParseUint("0"+digits, 8, 64)
	}
	return strconv.ParseUint(s, 10, 64)
}
