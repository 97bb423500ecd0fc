package client_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

// partPeer is an agent that serves one content to callers with the key.
func partPeer(t *testing.T, calls *atomic.Int64) (*httptest.Server, *client.Client) {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"x","description":"x","version":"1","capabilities":{},"skills":[],"defaultInputModes":[],"defaultOutputModes":[],`+
			`"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, s.URL+"/a2a")
	})
	mux.HandleFunc("/v1/parts/", func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Header.Get("Authorization") != "Bearer key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/gone"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"error":{"code":410,"status":"NOT_FOUND","message":"the part has expired"}}`)
		case strings.HasSuffix(r.URL.Path, "/away"):
			http.Redirect(w, r, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)+"/v1/parts/t/d", http.StatusFound)
		default:
			fmt.Fprint(w, "content")
		}
	})
	c, err := client.Dial(t.Context(), s.URL, client.Options{Key: "key"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

func readPart(t *testing.T, c *client.Client, p *a2a.Part) (string, error) {
	t.Helper()
	r, err := c.Open(t.Context(), p)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// at returns a part with an address, and the digest of a content if it is not empty.
func at(address, content string) *a2a.Part {
	p := &a2a.Part{Content: a2a.URL(address)}
	if content != "" {
		sum := sha256.Sum256([]byte(content))
		p.SetMeta("parley.part", map[string]any{"sha256": hex.EncodeToString(sum[:])})
	}
	return p
}

func TestOpenPart(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s, c := partPeer(t, &calls)
	for name, p := range map[string]*a2a.Part{
		"raw": a2a.NewRawPart([]byte("content")), "address": at(s.URL+"/v1/parts/t/d", ""), "address with digest": at(s.URL+"/v1/parts/t/d", "content"),
	} {
		if got, err := readPart(t, c, p); got != "content" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := readPart(t, c, at(s.URL+"/v1/parts/t/d", "something else")); !errors.Is(err, client.ErrDamaged) {
		t.Errorf("another content = %v, want ErrDamaged", err)
	}
	if _, err := readPart(t, c, at(s.URL+"/v1/parts/t/gone", "")); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("a part that is gone = %v", err)
	}
	if _, err := readPart(t, c, a2a.NewTextPart("x")); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("a text = %v", err)
	}
}

// TestOpenPartElsewhere checks that no request is sent to another origin.
func TestOpenPartElsewhere(t *testing.T) {
	t.Parallel()
	var calls, others atomic.Int64
	s, c := partPeer(t, &calls)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { others.Add(1) }))
	t.Cleanup(other.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	for _, address := range []string{
		other.URL + "/v1/parts/t/d",                                  // another port
		strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/v1/", // another name
		"https://" + host + "/v1/parts/t/d",                          // another scheme
		"http://user:pw@" + host + "/v1/parts/t/d", "http://" + host + "@" + strings.TrimPrefix(other.URL, "http://") + "/",
		"//" + host + "/v1/parts/t/d", "/v1/parts/t/d", "", "file:///etc/passwd", "http://[", "data:,x",
	} {
		if _, err := readPart(t, c, at(address, "")); !errors.Is(err, client.ErrElsewhere) {
			t.Errorf("Open(%q) = %v, want ErrElsewhere", address, err)
		}
	}
	if n := calls.Load() + others.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
	if _, err := readPart(t, c, at(s.URL+"/v1/parts/t/away", "")); err == nil || !strings.Contains(err.Error(), "redirect") || calls.Load() != 1 {
		t.Errorf("a redirect to another name = %v after %d requests", err, calls.Load())
	}
}
