package card

import "github.com/a2aproject/a2a-go/v2/a2a"

// The types of this file list the keys of the documents in the order in which they are written.
// Keys without omitempty are required by the protocol, or have a meaning when they are false.

type document struct {
	Name                 string                   `json:"name"`
	Description          string                   `json:"description"`
	SupportedInterfaces  []iface                  `json:"supportedInterfaces"`
	Provider             *provider                `json:"provider,omitempty"`
	Version              string                   `json:"version"`
	DocumentationURL     string                   `json:"documentationUrl,omitempty"`
	Capabilities         capabilities             `json:"capabilities"`
	SecuritySchemes      map[string]scheme        `json:"securitySchemes,omitempty"`
	SecurityRequirements []requirement            `json:"securityRequirements,omitempty"`
	DefaultInputModes    []string                 `json:"defaultInputModes"`
	DefaultOutputModes   []string                 `json:"defaultOutputModes"`
	Skills               []skill                  `json:"skills"`
	IconURL              string                   `json:"iconUrl,omitempty"`
	Signatures           []a2a.AgentCardSignature `json:"signatures,omitempty"`
	*legacyDocument
}

// legacyDocument has the keys that v0.3 has at the top level. It is embedded as a pointer, so
// that nil writes none of them.
type legacyDocument struct {
	ProtocolVersion      string              `json:"protocolVersion"`
	URL                  string              `json:"url"`
	PreferredTransport   string              `json:"preferredTransport"`
	AdditionalInterfaces []legacyIface       `json:"additionalInterfaces"`
	Security             []legacyRequirement `json:"security,omitempty"`
	ExtendedCard         bool                `json:"supportsAuthenticatedExtendedCard"`
	// AgentName is the name for readers of cards of the layout Jobs, which require it.
	AgentName string `json:"agentName"`
}

type iface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	Tenant          string `json:"tenant,omitempty"`
	ProtocolVersion string `json:"protocolVersion"`
}

type legacyIface struct {
	URL       string `json:"url"`
	Transport string `json:"transport"`
}

type provider struct {
	URL          string `json:"url"`
	Organization string `json:"organization"`
}

type capabilities struct {
	Streaming         bool        `json:"streaming"`
	PushNotifications bool        `json:"pushNotifications"`
	Extensions        []extension `json:"extensions,omitempty"`
	ExtendedAgentCard bool        `json:"extendedAgentCard"`
	*legacyCapabilities
}

type legacyCapabilities struct {
	StateTransitionHistory bool `json:"stateTransitionHistory"`
}

type extension struct {
	URI         string         `json:"uri,omitempty"`
	Description string         `json:"description,omitempty"`
	Required    bool           `json:"required,omitempty"`
	Params      map[string]any `json:"params,omitempty"`
}

type skill struct {
	ID                   string        `json:"id"`
	Name                 string        `json:"name"`
	Description          string        `json:"description"`
	Tags                 []string      `json:"tags"`
	Examples             []string      `json:"examples,omitempty"`
	InputModes           []string      `json:"inputModes,omitempty"`
	OutputModes          []string      `json:"outputModes,omitempty"`
	SecurityRequirements []requirement `json:"securityRequirements,omitempty"`
	// Security has the same requirements for readers of v0.3.
	Security []legacyRequirement `json:"security,omitempty"`
}

// requirement names schemes that are required together, each with its scopes. The values are of
// type scopes, or lists of strings with Options.BareScopes.
type requirement struct {
	Schemes map[string]any `json:"schemes"`
}

type scopes struct {
	List []string `json:"list"`
}

type legacyRequirement map[string][]string
