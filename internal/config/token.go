package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// TokenIssuer is an issuer of accepted tokens, such as an OpenID provider.
type TokenIssuer struct {
	// Name is the prefix of caller ids: "name:subject". It is required.
	Name string `yaml:"name"`
	// Issuer is the issuer in tokens (iss). It is required.
	Issuer string `yaml:"issuer"`
	// Audiences are the hub's names at the issuer. A token must contain one of them (aud). At
	// least one is required.
	Audiences []string `yaml:"audiences"`
	// Algorithms are the accepted signature algorithms: RS256, PS256, ES256, EdDSA.
	Algorithms []string `yaml:"algorithms"`
	// KeysURL is the address of the issuer's keys. The default is the address in its discovery
	// document.
	KeysURL string `yaml:"keys_url"`
	// KeysFile is a file with the issuer's keys (JWKS), as an alternative to fetching them. It
	// is read when the hub starts.
	KeysFile string `yaml:"keys_file" path:"yes"`
	// Skew is the largest accepted difference of the clocks. The default is 1m.
	Skew Duration `yaml:"skew"`
	// Owner is the organisation that owns the tasks of all callers of the issuer.
	Owner string `yaml:"owner"`
	// OwnerClaim is the claim with the organisation of a caller, and Owners maps its values to
	// owners.
	OwnerClaim string            `yaml:"owner_claim"`
	Owners     map[string]string `yaml:"owners"`
	// RolesClaim is the claim with roles, and Roles maps its values to roles of the hub.
	RolesClaim string            `yaml:"roles_claim"`
	Roles      map[string]string `yaml:"roles"`
	// Scopes maps scopes to roles of the hub.
	Scopes map[string]string `yaml:"scopes"`
	// RequiredScopes are the scopes that every token must have.
	RequiredScopes []string `yaml:"required_scopes"`
	// SignIn lets people sign in to the console at this issuer; absent, they cannot.
	SignIn *SignIn `yaml:"sign_in"`
}

// Issuers returns the issuers of tokens, with their keys if those are in files.
func (a *Auth) Issuers() ([]*token.Issuer, error) {
	issuers := make([]*token.Issuer, 0, len(a.Tokens))
	for n := range a.Tokens {
		i := a.Tokens[n].issuer()
		if file := a.Tokens[n].KeysFile; file != "" {
			var err error
			if i.Keys, err = textfile.Read(file); err != nil {
				return nil, fmt.Errorf("auth.tokens[%d].keys_file: %w", n, err)
			}
		}
		if err := i.Check(); err != nil {
			key, what := inWordsOfFile(err)
			return nil, fmt.Errorf("auth.tokens[%d].%s: %s", n, key, what)
		}
		issuers = append(issuers, i)
	}
	return issuers, nil
}

// issuer returns the issuer of t without the keys of its file.
func (t *TokenIssuer) issuer() *token.Issuer {
	return &token.Issuer{
		Name: t.Name, URL: t.Issuer, Audiences: t.Audiences, Algorithms: t.Algorithms, KeysURL: t.KeysURL,
		Skew: time.Duration(t.Skew), Org: t.Owner, OrgClaim: t.OwnerClaim, Orgs: t.Owners,
		RolesClaim: t.RolesClaim, Roles: t.Roles, Scopes: t.Scopes, RequiredScopes: t.RequiredScopes,
	}
}

// inWordsOfFile splits an error of an issuer, which begins with the name of a field, into the
// key in the file and the rest.
func inWordsOfFile(err error) (key, what string) {
	key, what, _ = strings.Cut(err.Error(), ": ")
	if name, ok := tokenKeys[key]; ok {
		key = name
	}
	return key, tokenWords.Replace(what)
}

// tokenKeys maps field names that differ to the keys of the file.
var tokenKeys = map[string]string{"org": "owner", "orgs": "owners", "keys": "keys_file"}

var tokenWords = strings.NewReplacer("org_claim", "owner_claim")

// checkTokens reports invalid issuers.
func checkTokens(d *yamlfile.Decoder, a *Auth) {
	names, urls := make(map[string]int), make(map[string]int)
	for i := range a.Tokens {
		t, at := &a.Tokens[i], "auth.tokens["+strconv.Itoa(i)+"]"
		if err := t.issuer().Check(); err != nil {
			key, what := inWordsOfFile(err)
			d.Problem(nil, yamlfile.Join(at, key), "%s", what)
			continue
		}
		if t.KeysURL != "" && t.KeysFile != "" {
			d.Problem(nil, at+".keys_file", "cannot be given together with keys_url")
		}
		if first, ok := names[t.Name]; ok {
			d.Problem(nil, at+".name", "is also used by auth.tokens[%d]", first)
		}
		if first, ok := urls[t.Issuer]; ok {
			d.Problem(nil, at+".issuer", "is also used by auth.tokens[%d]", first)
		}
		if t.Owner == localOwner || slices.Contains(slices.Collect(maps.Values(t.Owners)), localOwner) {
			d.Problem(nil, at, "a caller with a token cannot become the owner %q, which is reserved for callers without credentials", localOwner)
		}
		checkSignIn(d, at+".sign_in", t.SignIn)
		names[t.Name], urls[t.Issuer] = i, i
	}
}

// localOwner is the owner of the tasks of callers without credentials.
const localOwner = "local"
