package token

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Security implements auth.Tokens. It returns for each issuer a scheme with the name "token-"
// plus the issuer's name, and a requirement with the scopes that its tokens need (specification
// §4.5).
func (v *Verifier) Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	schemes := make(a2a.NamedSecuritySchemes, len(v.Issuers))
	requirements := make(a2a.SecurityRequirementsOptions, 0, len(v.Issuers))
	for _, i := range v.Issuers {
		name := a2a.SecuritySchemeName("token-" + i.Name)
		schemes[name] = i.scheme()
		requirements = append(requirements, a2a.SecurityRequirements{name: append(a2a.SecuritySchemeScopes{}, i.RequiredScopes...)})
	}
	return schemes, requirements
}

func (i *Issuer) scheme() a2a.SecurityScheme {
	text := "A token of " + i.URL + " for the audience " + i.Audiences[0] + "."
	if i.KeysURL != "" || i.Keys != nil {
		return a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", BearerFormat: "JWT", Description: text}
	}
	return a2a.OpenIDConnectSecurityScheme{
		OpenIDConnectURL: strings.TrimSuffix(i.URL, "/") + discoveryPath, Description: text,
	}
}
