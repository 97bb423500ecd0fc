package httpcall_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// TestVeil calls a server that repeats the credentials that it gets.
func TestVeil(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer error="+r.Header.Get("Authorization"))
		if strings.HasPrefix(r.URL.Path, "/ok") {
			w.WriteHeader(200)
		} else {
			w.WriteHeader(401)
		}
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%v %q %s %s %s", r.Header, r.URL.RawQuery, user, password, strings.ReplaceAll(r.Header.Get("X-Own"), "/", `\/`))
	}))
	t.Cleanup(srv.Close)
	const secret = "s3cret/s3cret+1"
	client, release := httpcall.Client(nil)
	t.Cleanup(release)
	get := func(path string, header http.Header) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resp.Header, string(b))
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("hub:"+secret))
	for name, header := range map[string]http.Header{
		"bearer":  {"Authorization": {"Bearer " + secret}},
		"basic":   {"Authorization": {basic}},
		"its own": {"X-Own": {secret}},
		"cookie":  {"Cookie": {"session=" + secret}},
		"several": {"X-Own": {"other-value", secret}, "X-Api-Key": {secret}},
	} {
		header.Set("A2A-Version", "version-1.0")
		got := get("/", header)
		if strings.Contains(got, "s3cret") || strings.Contains(got, basic) || !strings.Contains(got, "[credentials]") {
			t.Errorf("%s: %s", name, got)
		}
		if !strings.Contains(got, "version-1.0") {
			t.Errorf("%s: a text that is no secret is hidden: %s", name, got)
		}
	}
	if got := get("/?api_key=s3cret%2Fs3cret%2B1&contextId=0123456789", nil); strings.Contains(got, "s3cret") || !strings.Contains(got, "0123456789") {
		t.Errorf("in a parameter: %s", got)
	}
	if got := get("/ok", http.Header{"X-Own": {secret}}); !strings.Contains(got, secret) {
		t.Errorf("an answer that is no refusal was changed: %s", got)
	}
	if got := get("/", nil); strings.Contains(got, "[credentials]") {
		t.Errorf("without credentials: %s", got)
	}
}
