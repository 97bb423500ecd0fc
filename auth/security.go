package auth

import (
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The schemes of a Keyring, as cards name them (specification §4.5). Either one is
// enough.
var (
	keySchemes = a2a.NamedSecuritySchemes{
		"apiKey": a2a.APIKeySecurityScheme{
			Location: a2a.APIKeySecuritySchemeLocationHeader, Name: HeaderKey, Description: "An API key of this hub.",
		},
		"bearer": a2a.HTTPAuthSecurityScheme{Scheme: schemeBearer, Description: "The same API key as a bearer token."},
	}
	keyRequirements = a2a.SecurityRequirementsOptions{{"apiKey": {}}, {"bearer": {}}}
)

// Security returns what cards say about authentication: nothing while the Keyring is
// off, schemes that may be used while callers need none, else also that one of them
// is required. The values are shared and must not be changed.
func (r *Keyring) Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	if !r.On() {
		return nil, nil
	}
	schemes, requirements := keySchemes, keyRequirements
	if r.Tokens != nil {
		schemes, requirements = besides(r.Tokens, schemes, requirements)
	}
	if r.Certificates != nil {
		schemes, requirements = besides(r.Certificates, schemes, requirements)
	}
	if r.AllowAnonymous {
		requirements = nil
	}
	return schemes, requirements
}

// besides returns the schemes and requirements of first and then the others, without
// changing either.
func besides(
	first interface {
		Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions)
	}, others a2a.NamedSecuritySchemes, or a2a.SecurityRequirementsOptions,
) (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	schemes, requirements := first.Security()
	schemes = maps.Clone(schemes)
	maps.Copy(schemes, others)
	return schemes, append(slices.Clone(requirements), or...)
}
