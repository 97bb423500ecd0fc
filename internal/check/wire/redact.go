package wire

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redactor removes credentials from text. The zero value recognizes them by the names of
// headers and fields.
type Redactor struct {
	secrets []string
}

const redacted = "[redacted]"

var (
	secretHeaders = regexp.MustCompile(`(?im)^((?:authorization|proxy-authorization|cookie|set-cookie|x-api-key|a2a-notification-token|x-a2a-notification-token)[:=] ?).*$`)
	secretFields  = regexp.MustCompile(`(?i)("(?:credentials?|token|password|secret|client_?secret|access_?token|api_?key)"\s*:\s*)"(?:[^"\\]|\\.)*"`)
	userinfo      = regexp.MustCompile(`(://)[^/?#\s"@]+@`)
)

// NewRedactor returns a Redactor that also removes each of the secrets, in every encoding that
// it knows. Empty secrets are ignored.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s)
		r.secrets = append(r.secrets, s, strings.Trim(string(quoted), `"`), url.QueryEscape(s), url.PathEscape(s),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="))
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// Redact returns text without the credentials.
func (r *Redactor) Redact(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, redacted)
	}
	text = secretHeaders.ReplaceAllString(text, "${1}"+redacted)
	text = secretFields.ReplaceAllString(text, `${1}"`+redacted+`"`)
	return userinfo.ReplaceAllString(text, "${1}"+redacted+"@")
}

// maxShown bounds the text of each direction.
const maxShown = 4 << 10

// Text returns the bytes of x, with ">" before sent and "<" before received data.
func (r *Redactor) Text(x *Exchange) string {
	if x == nil {
		return ""
	}
	got := x.Got
	if x.Err != nil {
		got = strings.TrimRight(got, "\n") + "\n(" + x.Err.Error() + ")"
	}
	return prefixed("> ", clip(r.Redact(x.Sent), maxShown)) + prefixed("< ", clip(r.Redact(got), maxShown))
}

func prefixed(prefix, text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimRight(prefix+strings.TrimRight(line, "\r\n"), " ") + "\n")
	}
	return b.String()
}
