package card

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// legacyVersion is the protocol version for readers of the v0.3 keys.
const legacyVersion = "0.3.0"

// errNoLegacy is returned because readers of v0.3 need an address.
var errNoLegacy = errors.New("the union layout needs an interface of v0.3")

// addLegacy adds the keys of v0.3.
func (d *document) addLegacy(c *a2a.AgentCard, o *Options) error {
	var list []legacyIface
	for _, i := range o.legacyInterfaces() {
		list = append(list, legacyIface{i.URL, string(i.ProtocolBinding)})
	}
	if len(list) == 0 {
		return errNoLegacy
	}
	d.legacyDocument = &legacyDocument{
		ProtocolVersion:      legacyVersion,
		URL:                  list[0].URL,
		PreferredTransport:   list[0].Transport,
		AdditionalInterfaces: list,
		Security:             legacyRequirementsOf(c.SecurityRequirements),
		ExtendedCard:         o.ExtendedCard,
		AgentName:            c.Name,
	}
	d.Capabilities.legacyCapabilities = &legacyCapabilities{}
	for i := range d.Skills {
		d.Skills[i].Security = legacyRequirementsOf(c.Skills[i].SecurityRequirements)
	}
	for name, s := range d.SecuritySchemes {
		s.legacyScheme = s.legacy()
		d.SecuritySchemes[name] = s
	}
	return nil
}

// legacyInterfaces returns the interfaces that the keys of v0.3 list.
func (o *Options) legacyInterfaces() []*a2a.AgentInterface {
	if len(o.Legacy) > 0 {
		return o.Legacy
	}
	var list []*a2a.AgentInterface
	for _, i := range o.Interfaces {
		if i.ProtocolBinding == a2a.TransportProtocolJSONRPC {
			list = append(list, i)
		}
	}
	return list
}

func legacyRequirementsOf(in a2a.SecurityRequirementsOptions) []legacyRequirement {
	var out []legacyRequirement
	for _, r := range in {
		schemes := make(legacyRequirement, len(r))
		for name, list := range r {
			schemes[string(name)] = append([]string{}, list...)
		}
		out = append(out, schemes)
	}
	return out
}

// legacy returns the scheme in the flat form of v0.3.
func (s *scheme) legacy() *legacyScheme {
	switch {
	case s.APIKey != nil:
		k := s.APIKey
		return &legacyScheme{Type: "apiKey", Description: k.Description, In: string(k.Location), Name: k.Name}
	case s.HTTPAuth != nil:
		h := s.HTTPAuth
		return &legacyScheme{Type: "http", Description: h.Description, Scheme: h.Scheme, BearerFormat: h.BearerFormat}
	case s.OpenIDConnect != nil:
		c := s.OpenIDConnect
		return &legacyScheme{Type: "openIdConnect", Description: c.Description, OpenIDConnectURL: c.OpenIDConnectURL}
	case s.OAuth2 != nil:
		a := s.OAuth2
		f := a.Flows
		f.DeviceCode = nil // v0.3 has no such flow
		return &legacyScheme{Type: "oauth2", Description: a.Description, Flows: &f, MetadataURL: a.MetadataURL}
	default:
		return &legacyScheme{Type: "mutualTLS", Description: s.MutualTLS.Description}
	}
}
