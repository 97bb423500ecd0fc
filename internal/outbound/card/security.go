package card

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// scheme is one security scheme: the v1.0 wrapper with exactly one member and, in the union
// layout, also the flat keys of v0.3.
type scheme struct {
	APIKey        *a2a.APIKeySecurityScheme        `json:"apiKeySecurityScheme,omitempty"`
	HTTPAuth      *a2a.HTTPAuthSecurityScheme      `json:"httpAuthSecurityScheme,omitempty"`
	OAuth2        *oauth2Scheme                    `json:"oauth2SecurityScheme,omitempty"`
	OpenIDConnect *a2a.OpenIDConnectSecurityScheme `json:"openIdConnectSecurityScheme,omitempty"`
	MutualTLS     *a2a.MutualTLSSecurityScheme     `json:"mtlsSecurityScheme,omitempty"`
	*legacyScheme
}

type legacyScheme struct {
	Type             string `json:"type"`
	Description      string `json:"description,omitempty"`
	In               string `json:"in,omitempty"`
	Name             string `json:"name,omitempty"`
	Scheme           string `json:"scheme,omitempty"`
	BearerFormat     string `json:"bearerFormat,omitempty"`
	OpenIDConnectURL string `json:"openIdConnectUrl,omitempty"`
	Flows            *flows `json:"flows,omitempty"`
	MetadataURL      string `json:"oauth2MetadataUrl,omitempty"`
}

type oauth2Scheme struct {
	Description string `json:"description,omitempty"`
	Flows       flows  `json:"flows"`
	MetadataURL string `json:"oauth2MetadataUrl,omitempty"`
}

// flows has one flow (the protocol allows only one, specification §4.5.7).
type flows struct {
	AuthorizationCode *flow `json:"authorizationCode,omitempty"`
	ClientCredentials *flow `json:"clientCredentials,omitempty"`
	DeviceCode        *flow `json:"deviceCode,omitempty"`
	Implicit          *flow `json:"implicit,omitempty"`
	Password          *flow `json:"password,omitempty"`
}

type flow struct {
	AuthorizationURL       string `json:"authorizationUrl,omitempty"`
	DeviceAuthorizationURL string `json:"deviceAuthorizationUrl,omitempty"`
	TokenURL               string `json:"tokenUrl,omitempty"`
	RefreshURL             string `json:"refreshUrl,omitempty"`
	// Scopes is required, so it is never nil.
	Scopes       map[string]string `json:"scopes"`
	PKCERequired bool              `json:"pkceRequired,omitempty"`
}

func schemesOf(in a2a.NamedSecuritySchemes) (map[string]scheme, error) {
	out := make(map[string]scheme, len(in))
	for name, s := range in {
		w, err := schemeOf(s)
		if err != nil {
			return nil, fmt.Errorf("security scheme %q: %w", name, err)
		}
		out[string(name)] = w
	}
	return out, nil
}

func schemeOf(s a2a.SecurityScheme) (scheme, error) {
	switch s := s.(type) {
	case a2a.APIKeySecurityScheme:
		return scheme{APIKey: &s}, nil
	case a2a.HTTPAuthSecurityScheme:
		return scheme{HTTPAuth: &s}, nil
	case a2a.OpenIDConnectSecurityScheme:
		return scheme{OpenIDConnect: &s}, nil
	case a2a.MutualTLSSecurityScheme:
		return scheme{MutualTLS: &s}, nil
	case a2a.OAuth2SecurityScheme:
		f, err := flowsOf(s.Flows)
		return scheme{OAuth2: &oauth2Scheme{s.Description, f, s.Oauth2MetadataURL}}, err
	}
	return scheme{}, fmt.Errorf("unknown type %T", s)
}

func flowsOf(in a2a.OAuthFlows) (flows, error) {
	switch f := in.(type) {
	case a2a.AuthorizationCodeOAuthFlow:
		return flows{AuthorizationCode: &flow{
			AuthorizationURL: f.AuthorizationURL, TokenURL: f.TokenURL, RefreshURL: f.RefreshURL,
			Scopes: scopesOf(f.Scopes), PKCERequired: f.PKCERequired,
		}}, nil
	case a2a.ClientCredentialsOAuthFlow:
		return flows{ClientCredentials: &flow{
			TokenURL: f.TokenURL, RefreshURL: f.RefreshURL, Scopes: scopesOf(f.Scopes),
		}}, nil
	case a2a.DeviceCodeOAuthFlow:
		return flows{DeviceCode: &flow{
			DeviceAuthorizationURL: f.DeviceAuthorizationURL, TokenURL: f.TokenURL,
			RefreshURL: f.RefreshURL, Scopes: scopesOf(f.Scopes),
		}}, nil
	case a2a.ImplicitOAuthFlow:
		return flows{Implicit: &flow{
			AuthorizationURL: f.AuthorizationURL, RefreshURL: f.RefreshURL, Scopes: scopesOf(f.Scopes),
		}}, nil
	case a2a.PasswordOAuthFlow:
		return flows{Password: &flow{
			TokenURL: f.TokenURL, RefreshURL: f.RefreshURL, Scopes: scopesOf(f.Scopes),
		}}, nil
	}
	return flows{}, fmt.Errorf("unknown OAuth flow %T", in)
}

func scopesOf(in map[string]string) map[string]string {
	if in == nil {
		return map[string]string{}
	}
	return in
}

func requirementsOf(in a2a.SecurityRequirementsOptions, o *Options) []requirement {
	var out []requirement
	for _, r := range in {
		schemes := make(map[string]any, len(r))
		for name, list := range r {
			names := append([]string{}, list...)
			if schemes[string(name)] = names; !o.BareScopes {
				schemes[string(name)] = scopes{List: names}
			}
		}
		out = append(out, requirement{schemes})
	}
	return out
}
