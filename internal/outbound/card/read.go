package card

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/registry"
)

// ErrNoCard is returned if a document is not an agent card, or if there is none.
var ErrNoCard = errors.New("no agent card")

// maxDepth is the deepest nesting of a card.
const maxDepth = 64

// TaskSend is the binding of agents that accept only POST /tasks/send. The protocol
// does not define it.
const TaskSend a2a.TransportProtocol = "TASKS-SEND"

// Card is a received agent card.
type Card struct {
	// A2A is the card converted to v1.0, whatever its layout. Interfaces of other layouts
	// follow those of v1.0. It is never nil.
	A2A *a2a.AgentCard
	// Raw is the card as received.
	Raw json.RawMessage
	// Layout is the shape of Raw.
	Layout Layout
	// Dialect is the dialect of the agent's JSON-RPC in the layout Other; empty in the others, whose
	// interfaces have versions.
	Dialect string
	// ETag is the entity tag of the response with the card, or empty.
	ETag string
	// SignedBy is the id of the key that signed the card, if the signature was verified. A2A
	// then holds only signed content. Neither Read nor Fetch verifies signatures.
	SignedBy string
	// From is the URL of the card; nil if it was not fetched.
	From *url.URL
	// Fallback is set if the requested tenant has no card of its own. The card may then
	// describe another agent at the same address.
	Fallback bool
}

// SetFrom sets From, and resolves the relative URLs of the card's interfaces against it.
func (c *Card) SetFrom(from *url.URL) {
	c.From = from
	for _, i := range c.A2A.SupportedInterfaces {
		if u, err := url.Parse(i.URL); err == nil && !u.IsAbs() && i.ProtocolBinding != a2a.TransportProtocolGRPC {
			i.URL = from.ResolveReference(u).String()
		}
	}
}

// received is a card of any layout. Optional parts are decoded separately, so that a mistake in
// one of them loses only that part.
type received struct {
	raw []byte

	Name        string `json:"name"`
	AgentName   string `json:"agentName"`
	Description string `json:"description"`
	Version     string `json:"version"`

	Provider             json.RawMessage `json:"provider"`
	IconURL              json.RawMessage `json:"iconUrl"`
	DocumentationURL     json.RawMessage `json:"documentationUrl"`
	Capabilities         json.RawMessage `json:"capabilities"`
	Skills               json.RawMessage `json:"skills"`
	DefaultInputModes    json.RawMessage `json:"defaultInputModes"`
	DefaultOutputModes   json.RawMessage `json:"defaultOutputModes"`
	Signatures           json.RawMessage `json:"signatures"`
	SecuritySchemes      json.RawMessage `json:"securitySchemes"`
	SecurityRequirements json.RawMessage `json:"securityRequirements"`
	Security             json.RawMessage `json:"security"`

	SupportedInterfaces  json.RawMessage `json:"supportedInterfaces"`
	URL                  string          `json:"url"`
	PreferredTransport   string          `json:"preferredTransport"`
	AdditionalInterfaces json.RawMessage `json:"additionalInterfaces"`
	ProtocolVersion      string          `json:"protocolVersion"`
	ExtendedCard         json.RawMessage `json:"supportsAuthenticatedExtendedCard"`
	SupportsStreaming    json.RawMessage `json:"supportsStreaming"`
}

// Foreign recognizes cards without interfaces, in the layout of another system: has reports whether
// the card has a member. The result is how the agent is called, or nil for other cards. A part adds one.
type Foreign func(has func(member string) bool) *Interface

// Interface is the only interface of an agent, over JSON-RPC.
type Interface struct {
	// URL may be relative to the URL of the card.
	URL string
	// Dialect is the name of the dialect.
	Dialect string
}

// Read reads a card of any layout, with security requirements in any spelling. It skips
// unreadable parts, but requires a name. Its errors wrap ErrNoCard.
func Read(raw []byte) (*Card, error) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	r, err := decode(raw)
	if err != nil {
		return nil, err
	}
	layout, foreign := r.layout()
	c := &Card{Raw: raw, Layout: layout, Dialect: foreign.Dialect, A2A: &a2a.AgentCard{
		Name: r.Name, Description: r.Description, Version: r.Version,
		Capabilities:         r.capabilities(),
		Provider:             decodeOrZero[*a2a.AgentProvider](r.Provider),
		IconURL:              decodeOrZero[string](r.IconURL),
		DocumentationURL:     decodeOrZero[string](r.DocumentationURL),
		DefaultInputModes:    decodeOrZero[[]string](r.DefaultInputModes),
		DefaultOutputModes:   decodeOrZero[[]string](r.DefaultOutputModes),
		Signatures:           decodeOrZero[[]a2a.AgentCardSignature](r.Signatures),
		SecuritySchemes:      readSchemes(r.SecuritySchemes),
		SecurityRequirements: readRequirements(r.SecurityRequirements, r.Security),
		Skills:               readSkills(r.Skills),
	}}
	c.A2A.SupportedInterfaces = r.interfaces(layout, foreign.URL)
	return c, nil
}

// readableError returns an error that names the member of the wrong type, without names of Go
// types.
func readableError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return errors.New("must be an object")
	}
	return fmt.Errorf("%s: must be a string", wrong.Field)
}

func decode(raw []byte) (*received, error) {
	if page := bytes.TrimSpace(raw); len(page) > 0 && page[0] == '<' {
		return nil, fmt.Errorf("%w: it is a web page", ErrNoCard)
	}
	if err := rawjson.Check(raw, maxDepth); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCard, err)
	}
	r := &received{raw: raw}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%w: read card: %w", ErrNoCard, readableError(err))
	}
	if r.Name == "" {
		r.Name = r.AgentName
	}
	if r.Name == "" {
		return nil, fmt.Errorf("%w: it has no name", ErrNoCard)
	}
	return r, nil
}

// decodeOrZero decodes an optional part of a card. It returns the zero value if that fails.
func decodeOrZero[T any](raw json.RawMessage) T {
	var v, zero T
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return zero
	}
	return v
}

// layout returns the layout of the card, and the interface of one in the layout Other.
func (r *received) layout() (Layout, Interface) {
	v1, v03 := r.SupportedInterfaces != nil, r.URL != "" || r.AdditionalInterfaces != nil
	switch {
	case v1 && v03:
		return Union, Interface{}
	case v1:
		return V1, Interface{}
	case r.AgentName != "":
		return Jobs, Interface{}
	case v03:
		return V03, Interface{}
	}
	has := func(member string) bool { return rawjson.Member(r.raw, member) != nil }
	for _, foreign := range registry.Added[Foreign]() {
		if i := foreign(has); i != nil {
			return Other, *i
		}
	}
	return V1, Interface{}
}

func (r *received) capabilities() a2a.AgentCapabilities {
	caps := decodeOrZero[a2a.AgentCapabilities](r.Capabilities)
	caps.ExtendedAgentCard = caps.ExtendedAgentCard || decodeOrZero[bool](r.ExtendedCard)
	caps.Streaming = caps.Streaming || decodeOrZero[bool](r.SupportsStreaming)
	return caps
}

// interfaces returns the interfaces of v1.0, followed by those in the keys of other layouts. foreign
// is the URL of the interface in the layout Other.
func (r *received) interfaces(layout Layout, foreign string) []*a2a.AgentInterface {
	var list []*a2a.AgentInterface
	add := func(url, binding, version, tenant string) {
		i := &a2a.AgentInterface{
			URL: url, ProtocolBinding: bindingOf(binding), ProtocolVersion: a2a.ProtocolVersion(version), Tenant: tenant,
		}
		if url != "" && !listed(list, i) {
			list = append(list, i)
		}
	}
	for _, i := range decodeOrZero[[]*receivedInterface](r.SupportedInterfaces) {
		if i != nil {
			add(i.URL, cmp.Or(i.ProtocolBinding, i.Transport), cmp.Or(i.ProtocolVersion, r.newer()), i.tenant())
		}
	}
	switch layout {
	case Jobs:
		add(r.taskSend(), string(TaskSend), "", "")
		return list
	case Other:
		add(foreign, string(a2a.TransportProtocolJSONRPC), legacyVersion, "")
		return list
	}
	add(r.URL, r.PreferredTransport, r.older(layout), "")
	for _, i := range decodeOrZero[[]*receivedInterface](r.AdditionalInterfaces) {
		if i != nil {
			add(i.URL, cmp.Or(i.Transport, i.ProtocolBinding), r.older(layout), i.tenant())
		}
	}
	return list
}

// receivedInterface is an interface of v1.0 or of v0.3.
type receivedInterface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	Transport       string `json:"transport"`
	ProtocolVersion string `json:"protocolVersion"`
	Tenant          string `json:"tenant"`
	AgentID         string `json:"agentId"`
}

// tenant returns the tenant, or the agentId that some cards have instead.
func (i *receivedInterface) tenant() string { return cmp.Or(i.Tenant, i.AgentID) }

// newer returns the version of v1.0 interfaces that name no version.
func (r *received) newer() string {
	if strings.HasPrefix(r.ProtocolVersion, "1.") {
		return r.ProtocolVersion
	}
	return string(a2a.Version)
}

// older returns the version of the interfaces in the keys of v0.3. A union has v0.3 there,
// unless its top-level version begins with "0."; any other card has its top-level version.
func (r *received) older(layout Layout) string {
	if layout == Union && !strings.HasPrefix(r.ProtocolVersion, "0.") || r.ProtocolVersion == "" {
		return legacyVersion
	}
	return r.ProtocolVersion
}

// taskSend returns the URL at which an agent accepts jobs. It is below the card's
// url, or relative to the card's address if there is no url.
func (r *received) taskSend() string {
	if r.URL == "" {
		return "../tasks/send"
	}
	return strings.TrimRight(r.URL, "/") + "/tasks/send"
}

// bindingOf returns the protocol's name of a binding. It accepts other spellings.
func bindingOf(name string) a2a.TransportProtocol {
	switch strings.NewReplacer("-", "", "_", "", "+", "", " ", "").Replace(strings.ToUpper(name)) {
	case "", "JSONRPC", "JSONRPC2.0":
		return a2a.TransportProtocolJSONRPC
	case "HTTPJSON", "REST", "HTTP":
		return a2a.TransportProtocolHTTPJSON
	case "GRPC":
		return a2a.TransportProtocolGRPC
	}
	return a2a.TransportProtocol(name)
}

// listed reports whether list has i. Versions are compared without their patch number.
func listed(list []*a2a.AgentInterface, i *a2a.AgentInterface) bool {
	for _, known := range list {
		if known.URL == i.URL && known.ProtocolBinding == i.ProtocolBinding &&
			known.Tenant == i.Tenant && major(known.ProtocolVersion) == major(i.ProtocolVersion) {
			return true
		}
	}
	return false
}

func major(v a2a.ProtocolVersion) string {
	m, _, _ := strings.Cut(string(v), ".")
	return m
}

// receivedSkill is a skill of any layout.
type receivedSkill struct {
	ID                   string          `json:"id"`
	Name                 string          `json:"name"`
	Description          string          `json:"description"`
	Tags                 []string        `json:"tags"`
	Examples             json.RawMessage `json:"examples"`
	InputModes           []string        `json:"inputModes"`
	OutputModes          []string        `json:"outputModes"`
	SecurityRequirements json.RawMessage `json:"securityRequirements"`
	Security             json.RawMessage `json:"security"`
}

func readSkills(raw json.RawMessage) []a2a.AgentSkill {
	var skills []a2a.AgentSkill
	for _, one := range decodeOrZero[[]json.RawMessage](raw) {
		var s receivedSkill
		if json.Unmarshal(one, &s) != nil || s.ID == "" && s.Name == "" {
			continue
		}
		skills = append(skills, a2a.AgentSkill{
			ID: cmp.Or(s.ID, s.Name), Name: cmp.Or(s.Name, s.ID), Description: s.Description, Tags: s.Tags,
			Examples: decodeOrZero[[]string](s.Examples), InputModes: s.InputModes, OutputModes: s.OutputModes,
			SecurityRequirements: readRequirements(s.SecurityRequirements, s.Security),
		})
	}
	return skills
}
