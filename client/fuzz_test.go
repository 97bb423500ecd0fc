package client

import (
	"testing"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

func FuzzClientOfCard(f *testing.F) {
	for _, body := range []string{
		"", "[]", "null", `{"name":"a"}`, `{"name":"a","supportedInterfaces":[null,{"url":"http://x","protocolBinding":"JSONRPC"}]}`,
		`{"name":"a","securitySchemes":{"x":{}}}`, `{"name":1}`, `{"name":"a","skills":[{"tags":null}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read, err := card.Read(body)
		if (read == nil) == (err == nil) {
			t.Fatalf("Read(%q) = %v, %v, want a card or an error", body, read, err)
		}
		if err != nil {
			return
		}
		c, err := New(read.A2A, Options{})
		if err == nil {
			if i := c.Interface(); i.URL == "" {
				t.Errorf("a client of %q calls nothing", body)
			}
			c.Close()
		}
	})
}
