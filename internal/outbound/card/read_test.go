package card_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

// listed returns the interfaces of a card, one string each.
func listed(c *card.Card) []string {
	var list []string
	for _, i := range c.A2A.SupportedInterfaces {
		list = append(list, strings.TrimSpace(strings.Join(
			[]string{string(i.ProtocolBinding), string(i.ProtocolVersion), i.URL, i.Tenant}, " ")))
	}
	return list
}

func TestReadLayouts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw string
		layout    card.Layout
		want      []string
	}{
		{
			"v1.0",
			`{"name":"a","supportedInterfaces":[{"url":"http://x/a","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t"},null,
			  {"url":"","protocolBinding":"JSONRPC"},{"url":"x:1","protocolBinding":"GRPC"}]}`,
			card.V1,
			[]string{"HTTP+JSON 1.0 http://x/a t", "GRPC 1.0 x:1"},
		},
		{
			"v0.3",
			`{"name":"a","protocolVersion":"0.3.0","url":"http://x/","preferredTransport":"HTTP+JSON",
			  "additionalInterfaces":[{"url":"http://x/","transport":"HTTP+JSON"},{"url":"http://x/rpc","transport":"JSONRPC"},{"url":"x:2","transport":"GRPC"}]}`,
			card.V03,
			[]string{"HTTP+JSON 0.3.0 http://x/", "JSONRPC 0.3.0 http://x/rpc", "GRPC 0.3.0 x:2"},
		},
		{"v0.2", `{"name":"a","url":"http://x/"}`, card.V03, []string{"JSONRPC 0.3.0 http://x/"}},
		{"v0.3 that says 1.0", `{"name":"a","url":"http://x/","protocolVersion":"1.0"}`, card.V03, []string{"JSONRPC 1.0 http://x/"}},
		{
			"union",
			`{"name":"a","protocolVersion":"1.0","url":"http://x/","preferredTransport":"JSONRPC",
			  "additionalInterfaces":[{"url":"http://x/rest","transport":"HTTP+JSON"}],
			  "supportedInterfaces":[{"url":"http://x/","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"http://x/","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}`,
			card.Union,
			[]string{"JSONRPC 1.0 http://x/", "JSONRPC 0.3 http://x/", "HTTP+JSON 0.3.0 http://x/rest"},
		},
		{"jobs", `{"agentName":"Bob","version":"1.0","skills":[{"id":"s","name":"S"}]}`, card.Jobs, []string{"TASKS-SEND  ../tasks/send"}},
		{"jobs with a URL", `{"agentName":"Bob","url":"http://x:5100/"}`, card.Jobs, []string{"TASKS-SEND  http://x:5100/tasks/send"}},
		{
			"jobs and v1.0",
			`{"agentName":"Bob","supportedInterfaces":[{"url":"http://x/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
			card.V1,
			[]string{"JSONRPC 1.0 http://x/"},
		},
		{"nothing", `{"name":"a"}`, card.V1, nil},
		{
			"other spellings",
			`{"name":"a","supportedInterfaces":[{"url":"http://x/","transport":"json-rpc","protocolVersion":"1.0.1","agentId":"t"},{"url":"http://y/","protocolBinding":"http_json"},{"url":"q","protocolBinding":"MQTT"}]}`,
			card.V1,
			[]string{"JSONRPC 1.0.1 http://x/ t", "HTTP+JSON 1.0 http://y/", "MQTT 1.0 q"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := card.Read([]byte(tt.raw))
			if err != nil {
				t.Fatalf("Read() = %v", err)
			}
			if c.Layout != tt.layout {
				t.Errorf("layout = %s, want %s", c.Layout, tt.layout)
			}
			if diff := cmp.Diff(tt.want, listed(c)); diff != "" {
				t.Errorf("interfaces (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.raw, string(c.Raw)); diff != "" {
				t.Errorf("Raw (-want +got):\n%s", diff)
			}
		})
	}
}

// A written card is read back unchanged, in both spellings of requirements.
func TestReadWhatIsWritten(t *testing.T) {
	t.Parallel()
	registered := &a2a.AgentCard{
		Name: "full", Description: "d", Version: "2", IconURL: "http://x/i", DocumentationURL: "http://x/d",
		Provider:     &a2a.AgentProvider{Org: "o", URL: "http://x"},
		Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{{URI: "urn:x", Required: true, Params: map[string]any{"a": "b"}}}},
		SecuritySchemes: a2a.NamedSecuritySchemes{
			"key":  a2a.APIKeySecurityScheme{Location: "header", Name: "X-Key"},
			"http": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", BearerFormat: "JWT"},
			"oidc": a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "http://x/oidc"},
			"mtls": a2a.MutualTLSSecurityScheme{Description: "m"},
			"oauth": a2a.OAuth2SecurityScheme{
				Oauth2MetadataURL: "http://x/m",
				Flows:             a2a.ClientCredentialsOAuthFlow{TokenURL: "http://x/t", Scopes: map[string]string{"r": "read"}},
			},
		},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{"key": {}}, {"oauth": {"r"}, "mtls": {}}},
		DefaultInputModes:    []string{"text/plain"}, DefaultOutputModes: []string{"application/json"},
		Skills: []a2a.AgentSkill{{
			ID: "s", Name: "S", Description: "d", Tags: []string{"t"}, Examples: []string{"e"},
			InputModes: []string{"image/*"}, OutputModes: []string{"text/plain"},
			SecurityRequirements: a2a.SecurityRequirementsOptions{{"http": {}}},
		}},
	}
	for _, layout := range []card.Layout{card.V1, card.Union} {
		for _, bare := range []bool{false, true} {
			o := &card.Options{
				Layout: layout, BareScopes: bare, ExtendedCard: true, PushNotifications: true,
				Interfaces: card.Interfaces(card.Endpoint{Base: "http://x"}),
			}
			raw, err := card.JSON(registered, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := card.Read(raw)
			if err != nil {
				t.Fatalf("Read(%s) = %v", raw, err)
			}
			want := card.Complete(registered, o)
			if layout == card.Union {
				want.SupportedInterfaces = append(want.SupportedInterfaces,
					&a2a.AgentInterface{URL: "http://x/a2a", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0"})
			}
			if diff := cmp.Diff(want, got.A2A); diff != "" {
				t.Errorf("%s, bare %t (-want +got):\n%s", layout, bare, diff)
			}
		}
	}
}

func TestReadSecurityOfOldCards(t *testing.T) {
	t.Parallel()
	c, err := card.Read([]byte(`{"name":"a","url":"http://x/","supportsAuthenticatedExtendedCard":true,
		"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X-API-Key"},"b":{"type":"http","scheme":"bearer"},
			"m":{"type":"mutualTLS"},"i":{"type":"openIdConnect","openIdConnectUrl":"u"},
			"o":{"type":"oauth2","flows":{"authorizationCode":{"tokenUrl":"t1"},"clientCredentials":{"tokenUrl":"t2","scopes":{}}}},
			"x":{"type":"magic"},"y":7,"z":{"type":"oauth2","flows":{}},
			"w":{"apiKeySecurityScheme":{"in":"query","name":"q"}}},
		"security":[{"k":[]},{"o":["read"]}],
		"skills":[{"id":"s","security":[{"b":[]}]},"no",{"description":"nameless"},{"name":"only a name"}]}`))
	if err != nil {
		t.Fatalf("Read() = %v", err)
	}
	wantSchemes := a2a.NamedSecuritySchemes{
		"k": a2a.APIKeySecurityScheme{Location: "header", Name: "X-API-Key"}, "b": a2a.HTTPAuthSecurityScheme{Scheme: "bearer"},
		"m": a2a.MutualTLSSecurityScheme{}, "i": a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "u"},
		"o": a2a.OAuth2SecurityScheme{Flows: a2a.ClientCredentialsOAuthFlow{TokenURL: "t2", Scopes: map[string]string{}}},
		"w": a2a.APIKeySecurityScheme{Location: "query", Name: "q"},
	}
	if diff := cmp.Diff(wantSchemes, c.A2A.SecuritySchemes); diff != "" {
		t.Errorf("schemes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(a2a.SecurityRequirementsOptions{{"k": {}}, {"o": {"read"}}}, c.A2A.SecurityRequirements); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	wantSkills := []a2a.AgentSkill{
		{ID: "s", Name: "s", SecurityRequirements: a2a.SecurityRequirementsOptions{{"b": {}}}}, {ID: "only a name", Name: "only a name"},
	}
	if diff := cmp.Diff(wantSkills, c.A2A.Skills); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if !c.A2A.Capabilities.ExtendedAgentCard {
		t.Error("the extended card is not declared")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                          "unexpected end",
		" \n<!DOCTYPE html><html>":  "it is a web page",
		"[]":                        "read card: must be an object",
		"null":                      "no name",
		`{"name":""}`:               "no name",
		`{"name":7}`:                "read card: name: must be a string",
		`{"name":"a"`:               "unexpected end",
		`{"name":"a"} {}`:           "unexpected data",
		`{"error":"not found"}`:     "no name",
		strings.Repeat("[", 100000): "nested too deep",
	} {
		c, err := card.Read([]byte(raw))
		if c != nil || !errors.Is(err, card.ErrNoCard) || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%.40q) = %v, %v, want ErrNoCard that says %q", raw, c, err, want)
		}
	}
	if _, err := card.Read([]byte("\ufeff" + `{"name":"a"}`)); err != nil {
		t.Errorf("Read() with a byte order mark = %v", err)
	}
}

func TestSetFrom(t *testing.T) {
	t.Parallel()
	c, err := card.Read([]byte(`{"agentName":"Bob","supportedInterfaces":[{"url":"/rpc"},{"url":"http://y/"},{"url":"h:1","protocolBinding":"GRPC"},{"url":"%zz"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	from, _ := url.Parse("https://x/bob/.well-known/agent.json")
	c.SetFrom(from)
	want := []string{"JSONRPC 1.0 https://x/rpc", "JSONRPC 1.0 http://y/", "GRPC 1.0 h:1", "JSONRPC 1.0 %zz"}
	if diff := cmp.Diff(want, listed(c)); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

func TestLayoutNames(t *testing.T) {
	t.Parallel()
	if got := card.Jobs.String() + card.Layout(99).String(); got != "jobsLayout(99)" {
		t.Errorf("names = %s", got)
	}
	if _, err := card.JSON(&a2a.AgentCard{Name: "a"}, &card.Options{Layout: card.V03}); err == nil {
		t.Error("JSON() writes v0.3, want an error")
	}
}

func FuzzRead(f *testing.F) {
	for _, raw := range []string{
		"", "[]", "null", "<html>", `{"name":"a"}`, `{"agentName":"Bob","url":"http://x"}`, `{"name":1}`,
		`{"name":"a","supportedInterfaces":[null,{"url":"http://x","protocolBinding":"JSONRPC"}]}`,
		`{"name":"a","url":"http://x/","additionalInterfaces":[{"url":"http://x/","transport":"GRPC"}],"security":[{"k":[]}]}`,
		`{"name":"a","securitySchemes":{"x":{}},"securityRequirements":[{"schemes":{"k":{"list":["a"]}}}]}`,
		`{"name":"a","securitySchemes":{"o":{"type":"oauth2","flows":{"implicit":{}}}},"skills":[{"id":"s","tags":null}]}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := card.Read(raw)
		if err != nil {
			if c != nil || !errors.Is(err, card.ErrNoCard) {
				t.Fatalf("Read(%q) = %v, %v, want ErrNoCard alone", raw, c, err)
			}
			return
		}
		if c.A2A == nil || c.A2A.Name == "" {
			t.Fatalf("Read(%q) has no name", raw)
		}
		for _, i := range c.A2A.SupportedInterfaces {
			if i == nil || i.URL == "" {
				t.Fatalf("Read(%q) has an interface without an address", raw)
			}
		}
		if _, err := json.Marshal(c.A2A); err != nil {
			t.Fatalf("the card of %q cannot be written: %v", raw, err)
		}
	})
}
