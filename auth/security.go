package auth

import (
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Security schemes of a Keyring for cards (specification §4.5). Either one is sufficient.
var (
	keySchemes = a2a.NamedSecuritySchemes{
		"apiKey": a2a.APIKeySecurityScheme{
			Location: a2a.APIKeySecuritySchemeLocationHeader, Name: HeaderKey, Description: "An API key of this hub.",
		},
		"bearer": a2a.HTTPAuthSecurityScheme{Scheme: schemeBearer, Description: "The same API key as a bearer token."},
	}
	keyRequirements = a2a.SecurityRequirementsOptions{{"apiKey": {}}, {"bearer": {}}}
)

// Security returns the security schemes and requirements for cards. Both are nil while the
// Keyring is off. With AllowAnonymous the requirements are nil, so that the schemes are
// optional. The values are shared and must not be changed.
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

// besides returns the schemes and requirements of first, followed by the others, without
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
