package auth

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A credential is found only if it was sent as a whole, and its hint is never sufficient to use
// it.
func FuzzCredential(f *testing.F) {
	for _, seed := range [][2]string{
		{"k", "Bearer k"}, {"", "bearer  k\t"}, {"k", ""}, {"", "Basic eDp5"}, {" k ", "BEARER"}, {"pk_abcdefghij_xyz", "Bearer pk_abcdefghij_xyz"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, key, authorization string) {
		h := http.Header{}
		if key != "" {
			h.Set(HeaderKey, key)
		}
		if authorization != "" {
			h.Set("Authorization", authorization)
		}
		text, flaw := credential(&Request{Header: h.Values})
		switch {
		case flaw != "" && text != "":
			t.Errorf("credential %q with the flaw %q", text, flaw)
		case flaw == "" && (text == "" || len(text) > maxCredential):
			t.Errorf("credential of %d bytes without a flaw", len(text))
		case flaw == "" && key != "" && strings.Trim(key, " \t") != text:
			t.Errorf("credential %q, the header says %q", text, key)
		case flaw == "" && authorization != "" && !strings.HasSuffix(strings.Trim(authorization, " \t"), text):
			t.Errorf("credential %q, the header says %q", text, authorization)
		case flaw == flawMissing && key+authorization != "":
			t.Errorf("nothing is missing in %q and %q", key, authorization)
		}
		if hint := strings.TrimSuffix(hintOf(key), hintEnd); !strings.HasPrefix(key, hint) || len(hint) > 0 && len(key) < 2 {
			t.Errorf("hint of %q is %q", key, hint)
		}
		if k, err := ConfiguredKey(key, Principal{ID: "a"}); err == nil {
			ring := &Keyring{Configured: []Key{*k}}
			p, err := ring.Authenticate(t.Context(), &Request{Header: http.Header{HeaderKey: {key}}.Values, RemoteAddr: "192.0.2.1:1"})
			if given := !strings.HasPrefix(key, hashPrefix); (err == nil) != given || given && p.ID != "a" {
				t.Errorf("configured key %q: %v, %v", key, p, err)
			}
		}
	})
}

func TestHint(t *testing.T) {
	t.Parallel()
	k, text := NewKey(Principal{ID: "a"}, time.Now())
	for in, want := range map[string]string{
		text:                               "pk_" + k.ID + "_…",
		"pk_short_0123456789012345678":     "pk_s…",
		"pk_ab\x1b2345678_0123456789":      "pk_a…",
		"fifteen-bytes-x":                  "",
		"sixteen-bytes-xy":                 "sixt…",
		"s ixteen-bytes-xy":                "",
		"\xff\xfe\xfd\xfc_of_many_letters": "",
		"":                                 "",
	} {
		if got := hintOf(in); got != want {
			t.Errorf("hint of %q = %q, want %q", in, got, want)
		}
	}
}
