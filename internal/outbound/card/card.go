package card

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Layout is one shape of the card document. The zero Layout is V1.
type Layout uint8

const (
	// V1 has only the keys of A2A v1.0 (specification §4.4.1).
	V1 Layout = iota
	// Union has the keys of v1.0 and those that readers of v0.3 need. Each kind of reader
	// ignores the other's keys.
	Union
	// V03 has only the keys of v0.3. It is read, never written.
	V03
	// Other has the keys of v1.0, but no interfaces: a Foreign knows how the agent is called. It
	// is read, never written.
	Other
	// Jobs has an agentName, and no interfaces: the agent accepts POST /tasks/send. It is
	// read, never written.
	Jobs
)

// String returns the name of l, such as "v1.0".
func (l Layout) String() string {
	if int(l) >= len(layoutNames) {
		return fmt.Sprintf("Layout(%d)", uint8(l))
	}
	return layoutNames[l]
}

var layoutNames = [...]string{V1: "v1.0", Union: "union", V03: "v0.3", Other: "other", Jobs: "jobs"}

// Options holds the data that the hub adds to a registered card. The zero Options describe an
// agent that streams and has no address.
type Options struct {
	Layout Layout
	// Name is used if the registered card has no name.
	Name string
	// Interfaces are the ways to reach the agent, the preferred one first.
	Interfaces []*a2a.AgentInterface
	// Legacy lists the ways to reach the agent in v0.3 for the union layout, the preferred one
	// first. If empty, the JSON-RPC entries of Interfaces are used, whose address serves both
	// versions.
	Legacy []*a2a.AgentInterface
	// History also declares stateTransitionHistory, a capability of v0.3, in the layout V1.
	History bool
	// NoStreaming declares that the streaming operations are switched off.
	NoStreaming bool
	// PushNotifications declares that clients can register webhooks.
	PushNotifications bool
	// ExtendedCard declares that authenticated callers can request an extended card.
	ExtendedCard bool
	// About describes the hub, for cards that leave it open.
	About About
	// Extensions are the hub's extensions. The declaration of a registered card with the same
	// URI takes precedence.
	Extensions []a2a.AgentExtension
	// SecuritySchemes and SecurityRequirements are the hub's demands on callers. The registered
	// card can override them, see Complete.
	SecuritySchemes      a2a.NamedSecuritySchemes
	SecurityRequirements a2a.SecurityRequirementsOptions
	// BareScopes writes the scopes of a requirement as a bare list, {"key":[]}, instead of the
	// protocol's {"key":{"list":[]}}. The official Go SDK (v2.4.0) reads and writes the bare
	// list, and rejects the whole card otherwise. Readers that follow the protocol reject the
	// bare list.
	BareScopes bool
	// Others holds members that the protocol does not define, in the form that the function
	// Others returns. It is nil if there are none.
	Others []byte
	// Sign creates the signatures of the card from its v1.0 document. If nil, the card has no
	// signatures. Package internal/secret/signature has an implementation.
	Sign func(doc []byte) ([]a2a.AgentCardSignature, error)
}

// About is the part of a card that describes who offers an agent. Registered cards take
// precedence, field by field.
type About struct {
	Provider                  *a2a.AgentProvider
	DocumentationURL, IconURL string
}

// Defaults of required fields that a registered card leaves empty.
const (
	noVersion   = "0.0.0"
	defaultMode = "text/plain"
)

// JSON returns the document for the registered card c. It fails if c has a security scheme,
// flow or parameter that JSON or the protocol cannot express, or if Sign fails.
func JSON(c *a2a.AgentCard, o *Options) ([]byte, error) {
	c = Complete(c, o)
	d, err := makeDocument(c, o)
	if err != nil {
		return nil, fmt.Errorf("card of %q: %w", c.Name, err)
	}
	if d.Signatures, err = Signatures(c, o); err != nil {
		return nil, err
	}
	switch o.Layout {
	case V1:
		if o.History {
			d.Capabilities.legacyCapabilities = &legacyCapabilities{}
		}
	case Union:
		err = d.addLegacy(c, o)
	default:
		err = fmt.Errorf("layout %s is not written", o.Layout)
	}
	if err != nil {
		return nil, fmt.Errorf("card of %q: %w", d.Name, err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // URLs stay readable
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("card of %q: %w", d.Name, err)
	}
	return withOthers(bytes.TrimSuffix(b.Bytes(), []byte("\n")), o.Others), nil
}

// makeDocument converts a completed card to a document.
func makeDocument(c *a2a.AgentCard, o *Options) (*document, error) {
	schemes, err := schemesOf(c.SecuritySchemes)
	if err != nil {
		return nil, err
	}
	return &document{
		Name:                 c.Name,
		Description:          c.Description,
		SupportedInterfaces:  interfacesOf(c.SupportedInterfaces),
		Provider:             providerOf(c.Provider),
		Version:              c.Version,
		DocumentationURL:     c.DocumentationURL,
		Capabilities:         capabilitiesOf(&c.Capabilities),
		SecuritySchemes:      schemes,
		SecurityRequirements: requirementsOf(c.SecurityRequirements, o),
		DefaultInputModes:    c.DefaultInputModes,
		DefaultOutputModes:   c.DefaultOutputModes,
		Skills:               skillsOf(c.Skills, o),
		IconURL:              c.IconURL,
	}, nil
}

func capabilitiesOf(c *a2a.AgentCapabilities) capabilities {
	caps := capabilities{
		Streaming:         c.Streaming,
		PushNotifications: c.PushNotifications,
		ExtendedAgentCard: c.ExtendedAgentCard,
	}
	for _, x := range c.Extensions {
		caps.Extensions = append(caps.Extensions, extension{x.URI, x.Description, x.Required, x.Params})
	}
	return caps
}

func interfacesOf(list []*a2a.AgentInterface) []iface {
	out := make([]iface, 0, len(list))
	for _, i := range list {
		out = append(out, iface{i.URL, string(i.ProtocolBinding), i.Tenant, string(i.ProtocolVersion)})
	}
	return out
}

func providerOf(p *a2a.AgentProvider) *provider {
	if p == nil {
		return nil
	}
	return &provider{URL: p.URL, Organization: p.Org}
}

func modesOf(modes []string) []string {
	if len(modes) == 0 {
		return []string{defaultMode}
	}
	return modes
}

func skillsOf(list []a2a.AgentSkill, o *Options) []skill {
	out := make([]skill, 0, len(list))
	for i := range list {
		s := &list[i]
		out = append(out, skill{
			ID:                   s.ID,
			Name:                 s.Name,
			Description:          s.Description,
			Tags:                 s.Tags,
			Examples:             s.Examples,
			InputModes:           s.InputModes,
			OutputModes:          s.OutputModes,
			SecurityRequirements: requirementsOf(s.SecurityRequirements, o),
		})
	}
	return out
}
