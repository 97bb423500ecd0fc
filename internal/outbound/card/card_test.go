package card_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

var update = flag.Bool("update", false, "write the golden files again")

// fullCard uses every field that a registered card can have.
func fullCard() *a2a.AgentCard {
	scopes := map[string]string{"read": "look at routes"}
	return &a2a.AgentCard{
		Name:             "Route planner",
		Description:      "Plans <routes> & trips.",
		Version:          "2.1.0",
		DocumentationURL: "https://example.com/docs?a=1&b=2",
		IconURL:          "https://example.com/icon.png",
		Provider:         &a2a.AgentProvider{Org: "Example", URL: "https://example.com"},
		// The hub sets interfaces and signatures; these must not appear.
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("https://elsewhere.example", "JSONRPC")},
		Signatures:          []a2a.AgentCardSignature{{Protected: "e30", Signature: "c2ln"}},
		Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{
			{URI: "https://example.com/ext/v1", Description: "maps", Required: true, Params: map[string]any{"zoom": 3}},
		}},
		DefaultInputModes:  []string{"text/plain", "application/json"},
		DefaultOutputModes: []string{"image/png"},
		SecuritySchemes: a2a.NamedSecuritySchemes{
			"key":    a2a.APIKeySecurityScheme{Location: "header", Name: "X-API-Key", Description: "a key"},
			"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", BearerFormat: "JWT"},
			"oidc":   a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "https://id.example/.well-known/openid-configuration"},
			"mtls":   a2a.MutualTLSSecurityScheme{Description: "client certificate"},
			"code": a2a.OAuth2SecurityScheme{Flows: a2a.AuthorizationCodeOAuthFlow{
				AuthorizationURL: "https://id.example/auth", TokenURL: "https://id.example/token", Scopes: scopes, PKCERequired: true,
			}},
			"client": a2a.OAuth2SecurityScheme{Flows: a2a.ClientCredentialsOAuthFlow{TokenURL: "https://id.example/token"}},
			"device": a2a.OAuth2SecurityScheme{Flows: a2a.DeviceCodeOAuthFlow{
				DeviceAuthorizationURL: "https://id.example/device", TokenURL: "https://id.example/token",
			}},
			"implicit": a2a.OAuth2SecurityScheme{Flows: a2a.ImplicitOAuthFlow{AuthorizationURL: "https://id.example/auth"}},
			"password": a2a.OAuth2SecurityScheme{Flows: a2a.PasswordOAuthFlow{TokenURL: "https://id.example/token"}},
		},
		SecurityRequirements: a2a.SecurityRequirementsOptions{
			{"key": nil}, {"bearer": {}, "code": {"read", "write"}},
		},
		Skills: []a2a.AgentSkill{
			{
				ID: "plan", Name: "Plan", Description: "Plans a route.", Tags: []string{"maps"},
				Examples: []string{"from A to B"}, InputModes: []string{"text/plain"}, OutputModes: []string{"text/html"},
				SecurityRequirements: a2a.SecurityRequirementsOptions{{"code": {"read"}}},
			},
			{ID: "bare"},
		},
	}
}

func interfaces() []*a2a.AgentInterface {
	return card.Interfaces(card.Endpoint{Base: "https://hub.example/", Agent: "route planner", GRPC: "hub.example:4101"})
}

func TestJSONGolden(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		card *a2a.AgentCard
		opts card.Options
	}{
		{"v1-full", fullCard(), card.Options{Interfaces: interfaces(), PushNotifications: true}},
		{"v1-empty", &a2a.AgentCard{}, card.Options{Name: "echo", NoStreaming: true}},
		{"union-full", fullCard(), card.Options{Layout: card.Union, Interfaces: interfaces(), ExtendedCard: true}},
		{"union-empty", &a2a.AgentCard{}, card.Options{Layout: card.Union, Name: "echo", Interfaces: interfaces()}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := indent(t, mustJSON(t, tt.card, &tt.opts))
			file := filepath.Join("testdata", tt.name+".json")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("JSON mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// The protocol buffers of the protocol are the schema: protojson rejects unknown keys.
func TestV1HasOnlyKeysOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, c := range []*a2a.AgentCard{fullCard(), {}} {
		b := mustJSON(t, c, &card.Options{Name: "echo", Interfaces: interfaces()})
		var got pb.AgentCard
		if err := protojson.Unmarshal(b, &got); err != nil {
			t.Errorf("protojson.Unmarshal(%s): %v", b, err)
		}
		if got.Name == "" || got.Description == "" || got.Version == "" {
			t.Errorf("required field missing in %s", b)
		}
	}
}

func TestUnionHasMoreKeys(t *testing.T) {
	t.Parallel()
	b := mustJSON(t, &a2a.AgentCard{}, &card.Options{Layout: card.Union, Interfaces: interfaces()})
	if err := protojson.Unmarshal(b, &pb.AgentCard{}); err == nil {
		t.Errorf("protojson.Unmarshal(%s) succeeded; the union has keys beyond v1.0", b)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"url", "preferredTransport", "additionalInterfaces", "protocolVersion", "supportsAuthenticatedExtendedCard"} {
		if got[key] == nil {
			t.Errorf("union has no %q: %s", key, b)
		}
	}
	if want := `"stateTransitionHistory":false`; !strings.Contains(string(got["capabilities"]), want) {
		t.Errorf("capabilities = %s, want %s in it", got["capabilities"], want)
	}
}

// A card without requirements must be readable by the SDK, whose encoding of requirements
// differs from the protocol's.
func TestSDKReadsCard(t *testing.T) {
	t.Parallel()
	c := fullCard()
	c.SecurityRequirements, c.Skills[0].SecurityRequirements = nil, nil
	for _, layout := range []card.Layout{card.V1, card.Union} {
		var got a2a.AgentCard
		if err := json.Unmarshal(mustJSON(t, c, &card.Options{Layout: layout, Interfaces: interfaces()}), &got); err != nil {
			t.Fatalf("layout %d: %v", layout, err)
		}
		if layout == card.V1 {
			if diff := cmp.Diff(c.SecuritySchemes["code"], got.SecuritySchemes["code"]); diff != "" {
				t.Errorf("layout %d: scheme mismatch (-want +got):\n%s", layout, diff)
			}
		}
		if diff := cmp.Diff(interfaces(), got.SupportedInterfaces); diff != "" {
			t.Errorf("layout %d: interfaces mismatch (-want +got):\n%s", layout, diff)
		}
	}
}

func TestJSONIsStable(t *testing.T) {
	t.Parallel()
	want := string(mustJSON(t, fullCard(), &card.Options{}))
	for range 20 {
		if got := string(mustJSON(t, fullCard(), &card.Options{})); got != want {
			t.Fatalf("JSON is not stable:\n%s\n%s", got, want)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		card *a2a.AgentCard
		opts card.Options
		want string
	}{
		{
			"no scheme", &a2a.AgentCard{Name: "x", SecuritySchemes: a2a.NamedSecuritySchemes{"s": nil}},
			card.Options{},
			`card of "x": security scheme "s": unknown type <nil>`,
		},
		{
			"no flow", &a2a.AgentCard{SecuritySchemes: a2a.NamedSecuritySchemes{"s": a2a.OAuth2SecurityScheme{}}},
			card.Options{Name: "y"},
			`card of "y": security scheme "s": unknown OAuth flow <nil>`,
		},
		{
			"union without an interface", &a2a.AgentCard{Name: "x"},
			card.Options{Layout: card.Union},
			`card of "x": the union layout needs an interface of v0.3`,
		},
		{
			"params", &a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{
				{Params: map[string]any{"f": func() {}}},
			}}},
			card.Options{},
			`card of "x": json: unsupported type: func()`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, err := card.JSON(tt.card, &tt.opts)
			if err == nil || err.Error() != tt.want {
				t.Errorf("JSON = %s, %v; want error %q", b, err, tt.want)
			}
		})
	}
}

func TestInterfaces(t *testing.T) {
	t.Parallel()
	v := a2a.Version
	tests := []struct {
		place card.Endpoint
		want  []*a2a.AgentInterface
	}{
		{card.Endpoint{Base: "http://h:1"}, []*a2a.AgentInterface{
			{URL: "http://h:1/a2a", ProtocolBinding: "JSONRPC", ProtocolVersion: v},
			{URL: "http://h:1/v1/a2a", ProtocolBinding: "HTTP+JSON", ProtocolVersion: v},
		}},
		{card.Endpoint{Base: "https://h/p/", Agent: "a b/c", GRPC: "h:2"}, []*a2a.AgentInterface{
			{URL: "https://h/p/a2a/a%20b%2Fc", ProtocolBinding: "JSONRPC", ProtocolVersion: v},
			{URL: "https://h/p/v1/a2a/a%20b%2Fc", ProtocolBinding: "HTTP+JSON", ProtocolVersion: v},
			{URL: "h:2", ProtocolBinding: "GRPC", ProtocolVersion: v, Tenant: "a b/c"},
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, card.Interfaces(tt.place)); diff != "" {
			t.Errorf("Interfaces(%+v) mismatch (-want +got):\n%s", tt.place, diff)
		}
	}
}

func TestLegacyInterfaces(t *testing.T) {
	t.Parallel()
	for place, want := range map[card.Endpoint]string{
		{Base: "http://h:1/"}:                                          "JSONRPC http://h:1/a2a, HTTP+JSON http://h:1",
		{Base: "http://h:1", GRPC: "h:2"}:                              "JSONRPC http://h:1/a2a, HTTP+JSON http://h:1, GRPC h:2",
		{Base: "http://h:1", Agent: "a b", GRPC: "h:2"}:                "JSONRPC http://h:1/a2a/a%20b, HTTP+JSON http://h:1/a2a/a%20b",
		{Base: "http://h:1/p", Agent: "a", Default: true, GRPC: "h:2"}: "JSONRPC http://h:1/p/a2a/a, HTTP+JSON http://h:1/p/a2a/a, GRPC h:2",
	} {
		var got []string
		for _, i := range card.LegacyInterfaces(place) {
			got = append(got, string(i.ProtocolBinding)+" "+i.URL)
			if i.ProtocolVersion != "0.3.0" || i.Tenant != "" {
				t.Errorf("LegacyInterfaces(%+v) has %+v, want version 0.3.0 and no tenant", place, i)
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("LegacyInterfaces(%+v) = %s, want %s", place, got, want)
		}
	}
}

// The keys of v0.3 list the interfaces of v0.3. The first one is at the top level.
func TestUnionListsTheInterfacesOfV03(t *testing.T) {
	t.Parallel()
	o := card.Options{Layout: card.Union, Interfaces: interfaces(), Legacy: []*a2a.AgentInterface{
		{URL: "h:2", ProtocolBinding: "GRPC"}, {URL: "http://h", ProtocolBinding: "HTTP+JSON"},
	}}
	b := string(mustJSON(t, &a2a.AgentCard{}, &o))
	const want = `"url":"h:2","preferredTransport":"GRPC","additionalInterfaces":[{"url":"h:2","transport":"GRPC"},{"url":"http://h","transport":"HTTP+JSON"}]`
	if !strings.Contains(b, want) {
		t.Errorf("JSON = %s\nwant %s in it", b, want)
	}
}

func mustJSON(t *testing.T, c *a2a.AgentCard, o *card.Options) []byte {
	t.Helper()
	b, err := card.JSON(c, o)
	if err != nil {
		t.Fatalf("JSON: %v", err)
	}
	return b
}

func indent(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, b)
	}
	return out.String() + "\n"
}
