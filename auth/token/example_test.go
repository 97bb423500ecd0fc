package token_test

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
)

// A hub asserts the identity of its caller to a remote agent. Set parley.Hub.Asserter to the
// Asserter, and serve the key set where verifiers look for it; an executor calls auth.Assert
// with its context.
func ExampleAsserter() {
	key, err := token.NewKey()
	if err != nil {
		fmt.Println(err)
		return
	}
	hub := &token.Asserter{Issuer: "https://hub.example.com", Key: func() (*token.Key, error) { return key, nil }}
	ctx := auth.WithPrincipal(auth.WithAsserter(context.Background(), hub), &auth.Principal{ID: "alice"})
	assertion, err := auth.Assert(ctx, "https://ledger.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}

	// At ledger.example.com:
	keys, err := token.KeySet(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	ledger := &token.Verifier{Issuers: []*token.Issuer{{
		Name: "hub", URL: "https://hub.example.com", Keys: keys, Audiences: []string{"https://ledger.example.com"},
	}}}
	caller, err := ledger.Token(context.Background(), assertion)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(caller.ID)
	// Output: hub:alice
}
