package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// securityView describes how a caller of an agent authenticates, by its card.
type securityView struct {
	Schemes []schemeView
	// Needs says which of the schemes a caller needs.
	Needs string
}

// schemeView is a way to authenticate.
type schemeView struct{ Name, Kind, Detail string }

// schemeFields are the fields of all kinds of schemes that a page shows.
type schemeFields struct {
	Description, Location, Name, Scheme, BearerFormat string
	OpenIDConnectURL                                  string
	Flows                                             map[string]json.RawMessage
}

// flowFields are the fields of a flow of OAuth that a page shows.
type flowFields struct {
	AuthorizationURL, TokenURL, DeviceAuthorizationURL string
	Scopes                                             map[string]string
}

// schemeKinds are the members of a scheme by its kind, and their words.
var schemeKinds = map[string]string{
	"apiKeySecurityScheme":        "key",
	"httpAuthSecurityScheme":      "HTTP",
	"mtlsSecurityScheme":          "client certificate",
	"oauth2SecurityScheme":        "OAuth 2",
	"openIdConnectSecurityScheme": "OpenID Connect",
}

// Security returns the schemes of a card and which of them a caller needs; nil without any.
func (c cardView) Security() *securityView {
	if len(c.Schemes) == 0 && len(c.Requirements) == 0 {
		return nil
	}
	v := &securityView{Needs: needs(c.Requirements)}
	for _, name := range slices.Sorted(maps.Keys(c.Schemes)) {
		s := schemeView{Name: name, Kind: "of an unknown kind"}
		for _, member := range slices.Sorted(maps.Keys(c.Schemes[name])) {
			if kind := schemeKinds[member]; kind != "" {
				var f schemeFields
				_ = json.Unmarshal(c.Schemes[name][member], &f) // fields of another form are omitted
				s.Kind, s.Detail = strings.TrimSpace(kind+" "+f.Scheme), f.detail()
			}
		}
		v.Schemes = append(v.Schemes, s)
	}
	return v
}

// detail describes a scheme.
func (f *schemeFields) detail() string {
	var b strings.Builder
	add := func(words ...string) {
		if text := strings.TrimSpace(strings.Join(words, " ")); text != "" {
			b.WriteString(" · " + text)
		}
	}
	if f.Name != "" {
		add(f.Name, "in the", f.Location)
	}
	add(f.BearerFormat)
	add(f.OpenIDConnectURL)
	for _, name := range slices.Sorted(maps.Keys(f.Flows)) {
		var flow flowFields
		_ = json.Unmarshal(f.Flows[name], &flow) // fields of another form are omitted
		add(name, cmp.Or(flow.AuthorizationURL, flow.DeviceAuthorizationURL, flow.TokenURL))
		if len(flow.Scopes) > 0 {
			add("scopes", strings.Join(slices.Sorted(maps.Keys(flow.Scopes)), ", "))
		}
	}
	add(f.Description)
	return strings.TrimPrefix(b.String(), " · ")
}

// needs describes requirements: a caller satisfies one of them, with all of its schemes.
func needs(requirements []map[string]json.RawMessage) string {
	var choices []string
	for _, r := range requirements {
		var of map[string]json.RawMessage
		if json.Unmarshal(r["schemes"], &of) != nil {
			of = r
		}
		if len(of) == 0 {
			return "A caller may do without."
		}
		choices = append(choices, strings.Join(slices.Sorted(maps.Keys(of)), " and "))
	}
	if len(choices) == 0 {
		return "A caller may do without."
	}
	return "A caller needs " + strings.Join(choices, ", or ") + "."
}
