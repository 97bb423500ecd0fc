package httpcall

import (
	"encoding/base64"
	"strings"
)

// DecodeHeader decodes a HeaderValueBase64, in either alphabet of base64.
func DecodeHeader(v string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v))
	if err != nil {
		b, err = base64.RawURLEncoding.DecodeString(strings.TrimSpace(v))
	}
	return string(b), err
}

// HeaderName reports whether s can name a header (RFC 9110 section 5.6.2).
func HeaderName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", r) &&
			(r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// HeaderValue reports whether s can be the value of a header.
func HeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}
