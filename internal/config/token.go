package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// TokenIssuer is somebody whose tokens are taken, such as an OpenID provider.
type TokenIssuer struct {
	// Name is what callers with its tokens are called by: "name:subject". It is
	// required.
	Name string `yaml:"name"`
	// Issuer is the issuer as its tokens name it (iss). It is required.
	Issuer string `yaml:"issuer"`
	// Audiences are the names of the hub there, one of which a token has to be for (aud).
	// At least one is required.
	Audiences []string `yaml:"audiences"`
	// Algorithms are those that tokens may be signed with: RS256, PS256, ES256, EdDSA.
	Algorithms []string `yaml:"algorithms"`
	// KeysURL is the address of the issuer's keys, if its discovery document is not to
	// say it.
	KeysURL string `yaml:"keys_url"`
	// KeysFile is a file with the issuer's keys (JWKS), if they are not to be fetched. It
	// is read when the hub starts.
	KeysFile string `yaml:"keys_file" path:"yes"`
	// Skew is how far the clocks may differ: 1m.
	Skew Duration `yaml:"skew"`
	// Owner is the organisation that owns the tasks of all its callers instead of each
	// caller.
	Owner string `yaml:"owner"`
	// OwnerClaim is a claim with the organisation of a caller, and Owners which of its
	// values become which owner.
	OwnerClaim string            `yaml:"owner_claim"`
	Owners     map[string]string `yaml:"owners"`
	// RolesClaim is a claim with roles, and Roles which of them become which roles here.
	RolesClaim string            `yaml:"roles_claim"`
	Roles      map[string]string `yaml:"roles"`
	// Scopes says which scopes become which roles here.
	Scopes map[string]string `yaml:"scopes"`
	// RequiredScopes are scopes without which a token is refused.
	RequiredScopes []string `yaml:"required_scopes"`
}

// Issuers returns the issuers of tokens with their keys, as far as those stand in files.
func (a *Auth) Issuers() ([]*token.Issuer, error) {
	issuers := make([]*token.Issuer, 0, len(a.Tokens))
	for n := range a.Tokens {
		i := a.Tokens[n].issuer()
		if file := a.Tokens[n].KeysFile; file != "" {
			var err error
			if i.Keys, err = os.ReadFile(filepath.Clean(file)); err != nil {
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

// issuer returns t without the keys of its file.
func (t *TokenIssuer) issuer() *token.Issuer {
	return &token.Issuer{
		Name: t.Name, URL: t.Issuer, Audiences: t.Audiences, Algorithms: t.Algorithms, KeysURL: t.KeysURL,
		Skew: time.Duration(t.Skew), Org: t.Owner, OrgClaim: t.OwnerClaim, Orgs: t.Owners,
		RolesClaim: t.RolesClaim, Roles: t.Roles, Scopes: t.Scopes, RequiredScopes: t.RequiredScopes,
	}
}

// inWordsOfFile takes an error of an issuer apart, which begins with the name of a
// field.
func inWordsOfFile(err error) (key, what string) {
	key, what, _ = strings.Cut(err.Error(), ": ")
	if name, ok := tokenKeys[key]; ok {
		key = name
	}
	return key, tokenWords.Replace(what)
}

// tokenKeys are the keys of fields that are called otherwise here.
var tokenKeys = map[string]string{"org": "owner", "orgs": "owners", "keys": "keys_file"}

var tokenWords = strings.NewReplacer("org_claim", "owner_claim")

// checkTokens notes issuers that cannot be used.
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
			d.Problem(nil, at+".name", "is the same as that of auth.tokens[%d]", first)
		}
		if first, ok := urls[t.Issuer]; ok {
			d.Problem(nil, at+".issuer", "is the same as that of auth.tokens[%d]", first)
		}
		if t.Owner == localOwner || hasValue(t.Owners, localOwner) {
			d.Problem(nil, at, "nobody with a token becomes the owner %q, whose tasks are those of callers without credentials", localOwner)
		}
		names[t.Name], urls[t.Issuer] = i, i
	}
}

// localOwner is the owner of the tasks of callers without credentials.
const localOwner = "local"

func hasValue(m map[string]string, value string) bool {
	for _, v := range m {
		if v == value {
			return true
		}
	}
	return false
}
