package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/auth"
)

// A keyring with one key.
func ExampleKeyring() {
	key, text := auth.NewKey(auth.Principal{ID: "partner", Org: "acme"}, time.Now())
	ring := &auth.Keyring{Configured: []auth.Key{*key}}

	header := http.Header{}
	header.Set(auth.HeaderKey, text)
	p, err := ring.Authenticate(context.Background(), &auth.Request{Header: header.Values, RemoteAddr: "192.0.2.1:4100"})
	fmt.Println(p.ID, p.Owner(), err)

	_, err = ring.Authenticate(context.Background(), &auth.Request{Header: http.Header{}.Values, RemoteAddr: "192.0.2.1:4100"})
	fmt.Println(err)
	// Output:
	// partner org:acme <nil>
	// Authentication required: provide X-Api-Key header or a bearer token
}
