package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/internal/version"
)

// defaultURL is the default address of "parley serve".
const defaultURL = "http://127.0.0.1:4100"

type target struct {
	URL    string `help:"The URL of the agent or of its card ($$PARLEY_URL)." default:"${url}" from:"PARLEY_URL" placeholder:"URL"`
	Agent  string `help:"The agent's name on a Parley hub; without it, the agent at the URL." placeholder:"NAME"`
	APIKey string `name:"api-key" help:"The credential to send ($$PARLEY_API_KEY)." from:"PARLEY_API_KEY" placeholder:"KEY"`
	certFlags
	Binding string `help:"The binding to prefer: jsonrpc, rest or grpc." enum:"jsonrpc,rest,grpc," default:"" placeholder:"NAME"`
}

// at returns the URL of the agent.
func (t *target) at() string {
	if t.Agent == "" {
		return t.URL
	}
	return strings.TrimRight(t.URL, "/") + "/a2a/" + url.PathEscape(t.Agent)
}

// hub returns the flags for the hub's own interface.
func (t *target) hub() hubFlags {
	return hubFlags{URL: t.URL, APIKey: t.APIKey, certFlags: t.certFlags}
}

// onHub reports whether the agent is on a Parley hub: its name there was given, or its card declares an extension
// of hubs. Other servers get no requests for the hub's own interface.
func (t *target) onHub(c *client.Client) bool {
	return t.Agent != "" || card.Declares(c.Card(), card.ClientTaskIDs) || card.Declares(c.Card(), card.TaskTree)
}

func (t *target) options() client.Options {
	o := client.Options{
		Key: t.APIKey, Credentials: client.Credentials{TLS: t.files()},
		Header: http.Header{"User-Agent": {"parley/" + version.Version}},
		Transports: map[a2a.TransportProtocol]client.Transport{
			a2a.TransportProtocolGRPC: caller.Dial,
		},
	}
	switch t.Binding {
	case "jsonrpc":
		o.Bindings = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC}
	case "rest":
		o.Bindings = []a2a.TransportProtocol{a2a.TransportProtocolHTTPJSON}
	case "grpc":
		o.Bindings = []a2a.TransportProtocol{a2a.TransportProtocolGRPC}
	}
	return o
}

// call connects to the agent and calls f with the client.
func (t *target) call(ctx context.Context, f func(*client.Client) error) error {
	if _, err := t.config(); err != nil {
		return err
	}
	c, err := client.Dial(ctx, t.at(), t.options())
	if err == nil {
		err = errors.Join(f(c), c.Close())
	}
	return t.advise(t.missing(ctx, err))
}

// advise adds a remedy to err.
func (t *target) advise(err error) error {
	var agent *client.Error
	switch {
	case errors.Is(err, client.ErrUnreachable) && t.URL == defaultURL:
		return fmt.Errorf("%w; start a hub with: parley serve", err)
	case errors.As(err, &agent) && errors.Is(err, a2a.ErrUnauthenticated):
		return unauthenticated(err, t.APIKey)
	case errors.As(err, new(x509.UnknownAuthorityError)) && t.CA == "":
		return fmt.Errorf("%w; set the trusted authority with --ca or $PARLEY_CA", err)
	}
	return err
}

// unauthenticated adds a remedy to the refusal of a caller with or without a key. Servers do not
// say that a key was wrong.
func unauthenticated(err error, key string) error {
	if key == "" {
		return fmt.Errorf("%w; give a credential with --api-key or $PARLEY_API_KEY", err)
	}
	return fmt.Errorf("%w; the server rejected the credential", err)
}

// flags returns the flags with which another command reaches the same agent.
func (t *target) flags() string {
	hub := t.hub()
	if t.Agent == "" {
		return hub.flags()
	}
	return hub.flags() + " --agent " + quote(t.Agent)
}

// flags returns the flags with which another command reaches the same hub.
func (f *hubFlags) flags() string {
	var b strings.Builder
	if f.URL != defaultURL {
		b.WriteString(" --url " + quote(f.URL))
	}
	for _, c := range []struct{ name, value string }{
		{"--ca", f.CA},
		{"--client-cert", f.ClientCert},
		{"--client-key", f.ClientKey},
	} {
		if c.value != "" {
			b.WriteString(" " + c.name + " " + quote(c.value))
		}
	}
	return b.String()
}

// quote quotes s as one word of a shell.
func quote(s string) string { return adminapi.ShellWord(s) }

const (
	// listTimeout bounds the request for the agents of a hub, which only serves to explain an
	// error.
	listTimeout = 2 * time.Second
	// maxListed is the maximum number of agents that an explanation names.
	maxListed = 20
)

// missing adds the names of the existing agents to err, if err means that the agent of the
// flags does not exist.
func (t *target) missing(ctx context.Context, err error) error {
	if t.Agent == "" || !errors.Is(err, client.ErrNoCard) {
		return err
	}
	names, meant := t.agents(ctx)
	switch {
	case meant != "":
		return fmt.Errorf("no agent %q at %s; its name there is %s", t.Agent, t.URL, meant)
	case len(names) == 0:
		return fmt.Errorf("no agent %q at %s", t.Agent, t.URL)
	}
	all := "available agents: " + strings.Join(names, ", ")
	if near := suggest.Nearest(t.Agent, names); near != "" {
		all = "did you mean " + near + "? A" + all[1:]
	}
	return fmt.Errorf("no agent %q at %s; %s", t.Agent, t.URL, all)
}

// agents returns the names of the agents if the URL is that of a hub that lists them. meant is
// the name of the agent whose title was given as its name.
func (t *target) agents(ctx context.Context) (names []string, meant string) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var list adminjson.AgentList
	hub := t.hub()
	if hub.ask(ctx, "GET "+agentsPath, nil, &list) != nil {
		return nil, ""
	}
	for _, a := range list.Agents {
		if t.Agent == a.Title || strings.EqualFold(t.Agent, a.Name) {
			meant = a.Name
		}
		if len(names) < maxListed {
			names = append(names, a.Name)
		}
	}
	if len(list.Agents) > maxListed {
		names = append(names, "…")
	}
	return names, meant
}
