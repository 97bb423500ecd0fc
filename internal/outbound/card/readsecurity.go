package card

import (
	"cmp"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// readRequirements returns the first readable list. An element of a list is
// {"schemes":{"key":{"list":["a"]}}} in the protocol, {"schemes":{"key":["a"]}} in the official
// Go SDK, and {"key":["a"]} in v0.3.
func readRequirements(lists ...json.RawMessage) a2a.SecurityRequirementsOptions {
	for _, list := range lists {
		var out a2a.SecurityRequirementsOptions
		for _, one := range decodeOrZero[[]json.RawMessage](list) {
			r, ok := readRequirement(one)
			if !ok {
				out = nil
				break
			}
			out = append(out, r)
		}
		if out != nil {
			return out
		}
	}
	return nil
}

func readRequirement(raw json.RawMessage) (a2a.SecurityRequirements, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false
	}
	if wrapped, ok := members["schemes"]; ok {
		raw = wrapped
	}
	var named map[a2a.SecuritySchemeName]spelledScopes
	if json.Unmarshal(raw, &named) != nil {
		return nil, false
	}
	out := make(a2a.SecurityRequirements, len(named))
	for name, list := range named {
		out[name] = a2a.SecuritySchemeScopes(list)
	}
	return out, true
}

// spelledScopes is a list of scopes that may be wrapped in an object.
type spelledScopes []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *spelledScopes) UnmarshalJSON(b []byte) error {
	var names []string
	if json.Unmarshal(b, &names) == nil {
		*s = append(spelledScopes{}, names...)
		return nil
	}
	var wrapped scopes
	if err := json.Unmarshal(b, &wrapped); err != nil {
		return err
	}
	*s = append(spelledScopes{}, wrapped.List...)
	return nil
}

// readSchemes returns the schemes of known kinds.
func readSchemes(raw json.RawMessage) a2a.NamedSecuritySchemes {
	var out a2a.NamedSecuritySchemes
	for name, one := range decodeOrZero[map[a2a.SecuritySchemeName]json.RawMessage](raw) {
		s := readScheme(one)
		if s == nil {
			continue
		}
		if out == nil {
			out = make(a2a.NamedSecuritySchemes)
		}
		out[name] = s
	}
	return out
}

// receivedScheme is a scheme in the wrapped form of v1.0, or in the flat form of v0.3.
type receivedScheme struct {
	APIKey        json.RawMessage `json:"apiKeySecurityScheme"`
	HTTPAuth      json.RawMessage `json:"httpAuthSecurityScheme"`
	OAuth2        json.RawMessage `json:"oauth2SecurityScheme"`
	OpenIDConnect json.RawMessage `json:"openIdConnectSecurityScheme"`
	MutualTLS     json.RawMessage `json:"mtlsSecurityScheme"`
	legacyScheme
}

// readScheme returns a scheme, or nil if its kind is unknown.
func readScheme(raw json.RawMessage) a2a.SecurityScheme {
	var s receivedScheme
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	switch {
	case s.APIKey != nil:
		k := decodeOrZero[a2a.APIKeySecurityScheme](s.APIKey)
		k.Location = a2a.APIKeySecuritySchemeLocation(cmp.Or(string(k.Location), decodeOrZero[legacyScheme](s.APIKey).In))
		return k
	case s.HTTPAuth != nil:
		return decodeOrZero[a2a.HTTPAuthSecurityScheme](s.HTTPAuth)
	case s.OpenIDConnect != nil:
		return decodeOrZero[a2a.OpenIDConnectSecurityScheme](s.OpenIDConnect)
	case s.OAuth2 != nil:
		o := decodeOrZero[oauth2Scheme](s.OAuth2)
		return oauth2Of(o.Description, o.MetadataURL, &o.Flows)
	case s.MutualTLS != nil:
		return decodeOrZero[a2a.MutualTLSSecurityScheme](s.MutualTLS)
	}
	return s.wrapped()
}

// wrapped returns a flat scheme in the form of v1.0, or nil.
func (s *legacyScheme) wrapped() a2a.SecurityScheme {
	switch s.Type {
	case "apiKey":
		return a2a.APIKeySecurityScheme{
			Description: s.Description, Location: a2a.APIKeySecuritySchemeLocation(s.In), Name: s.Name,
		}
	case "http":
		return a2a.HTTPAuthSecurityScheme{Description: s.Description, Scheme: s.Scheme, BearerFormat: s.BearerFormat}
	case "openIdConnect":
		return a2a.OpenIDConnectSecurityScheme{Description: s.Description, OpenIDConnectURL: s.OpenIDConnectURL}
	case "mutualTLS":
		return a2a.MutualTLSSecurityScheme{Description: s.Description}
	case "oauth2":
		if s.Flows != nil {
			return oauth2Of(s.Description, s.MetadataURL, s.Flows)
		}
	}
	return nil
}

// oauth2Of returns a scheme with one of the flows, because v1.0 allows only one. It prefers the
// flow that needs no person.
func oauth2Of(description, metadata string, f *flows) a2a.SecurityScheme {
	out := a2a.OAuth2SecurityScheme{Description: description, Oauth2MetadataURL: metadata}
	switch {
	case f.ClientCredentials != nil:
		c := f.ClientCredentials
		out.Flows = a2a.ClientCredentialsOAuthFlow{TokenURL: c.TokenURL, RefreshURL: c.RefreshURL, Scopes: c.Scopes}
	case f.AuthorizationCode != nil:
		c := f.AuthorizationCode
		out.Flows = a2a.AuthorizationCodeOAuthFlow{
			AuthorizationURL: c.AuthorizationURL, TokenURL: c.TokenURL, RefreshURL: c.RefreshURL,
			Scopes: c.Scopes, PKCERequired: c.PKCERequired,
		}
	case f.DeviceCode != nil:
		c := f.DeviceCode
		out.Flows = a2a.DeviceCodeOAuthFlow{
			DeviceAuthorizationURL: c.DeviceAuthorizationURL, TokenURL: c.TokenURL, RefreshURL: c.RefreshURL, Scopes: c.Scopes,
		}
	case f.Password != nil:
		c := f.Password
		out.Flows = a2a.PasswordOAuthFlow{TokenURL: c.TokenURL, RefreshURL: c.RefreshURL, Scopes: c.Scopes}
	case f.Implicit != nil:
		c := f.Implicit
		out.Flows = a2a.ImplicitOAuthFlow{AuthorizationURL: c.AuthorizationURL, RefreshURL: c.RefreshURL, Scopes: c.Scopes}
	default:
		return nil
	}
	return out
}
