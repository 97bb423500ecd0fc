// Package openid signs people in at an OpenID provider.
//
// # Overview
//
// A [Provider] follows the authorization code flow of OpenID Connect Core 1.0 (§3.1) with PKCE
// (RFC 7636): [Provider.Begin] returns the address to which the browser is sent, and
// [Provider.Finish] exchanges the code that the browser brings back for an ID token. The ID token
// is the credential of a [Session].
//
// # Guarantees
//
// State, nonce and the secret of PKCE are random for each attempt. An answer with another state,
// or of another issuer (RFC 9207), is refused before a request is made. The ID token is verified
// by package auth/token: signature, issuer, audience, expiry, nonce. Endpoints are those of the
// discovery document, which must name the configured issuer; they are https addresses, or on this
// machine if the issuer is. Redirects are not followed. Errors contain neither codes nor tokens.
//
// # Non-guarantees
//
// The package does not remember attempts: the caller keeps an [Attempt] where only the browser
// that began it can use it. Tokens are not renewed: a session ends with its ID token.
//
// # Concurrency
//
// A Provider is safe for concurrent use once its fields are set. It starts no background work.
package openid
