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
		schemes, requirements = r.Tokens.Security()
		schemes = maps.Clone(schemes)
		maps.Copy(schemes, keySchemes)
		requirements = append(slices.Clone(requirements), keyRequirements...)
	}
	if r.AllowAnonymous {
		requirements = nil
	}
	return schemes, requirements
}
