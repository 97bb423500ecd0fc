package httpcall

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// veiled replaces a secret.
const veiled = "[credentials]"

const (
	// maxVeiled is how much of an error answer is read, in bytes; the rest is dropped.
	maxVeiled = 1 << 20
	// minSecret is the minimum length of a text that is treated as a secret: shorter ones would
	// occur in ordinary words.
	minSecret = 8
)

// Veil removes the credentials of a request from an error answer to it: some servers repeat
// them, and error answers end up in logs and with callers. Other answers stay unchanged. It
// returns the answer.
func Veil(req *http.Request, resp *http.Response) *http.Response {
	if resp == nil || resp.StatusCode < http.StatusBadRequest {
		return resp
	}
	secrets := shownBy(req)
	if len(secrets) == 0 {
		return resp
	}
	for name, values := range resp.Header {
		for i := range values {
			resp.Header[name][i] = Hide(values[i], secrets...)
		}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxVeiled))
	closing := resp.Body.Close()
	if err == nil {
		err = closing
	}
	text = []byte(Hide(string(text), secrets...))
	resp.ContentLength = int64(len(text))
	resp.Header.Del("Content-Length")
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), failing{err}))
	return resp
}

// failing is the remainder of a body that could not be read to its end.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// Hide removes secrets from a text, including their forms in JSON and in a URL. Secrets of
// fewer than eight bytes stay, because they may be ordinary words.
func Hide(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			continue // strings can always be encoded
		}
		for _, form := range []string{s, strings.Trim(string(quoted), `"`), strings.ReplaceAll(s, "/", `\/`), url.QueryEscape(s), url.PathEscape(s)} {
			text = strings.ReplaceAll(text, form, veiled)
		}
	}
	return text
}

// shownBy returns the credentials of a request: the values of all headers that are not known to
// be harmless, since header names are arbitrary, and of parameters named like a secret.
func shownBy(req *http.Request) []string {
	var all []string
	for name, values := range req.Header {
		if harmless(name) {
			continue
		}
		for _, v := range values {
			all = append(all, parts(v)...)
		}
	}
	for name, values := range req.URL.Query() {
		if secretive(name) {
			all = append(all, values...)
		}
	}
	return all
}

// parts returns the value of a header and the secrets inside it.
func parts(value string) []string {
	all := []string{value}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		for pair := range strings.SplitSeq(value, ";") { // cookies
			if _, v, ok := strings.Cut(pair, "="); ok {
				all = append(all, strings.TrimSpace(v))
			}
		}
		return all
	}
	all = append(all, strings.TrimSpace(token))
	if b, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(b), ":")
		all = append(all, password)
		if plain, err := url.QueryUnescape(password); err == nil { // RFC 6749 §2.3.1
			all = append(all, plain)
		}
	}
	return all
}

// harmless reports whether a header holds no credentials.
func harmless(name string) bool {
	switch name {
	case "User-Agent", "Idempotency-Key", "Last-Event-Id", "Cache-Control", "Connection", "Range", "Host", "Origin", "Traceparent", "Tracestate",
		"X-Correlation-Id", "X-Parent-Id":
		return true
	}
	for _, prefix := range []string{"Accept", "Content-", "A2a-", "If-", "Mcp-", "X-Stainless-", "X-Parley-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func secretive(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "auth", "sig", "password"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
