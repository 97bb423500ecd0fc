package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// maxCard bounds an agent card, in bytes.
const maxCard = 1 << 20

// wellKnown are the places of a card below a base URL, newest first
// (specification §8.2; agents before v0.3 used the second).
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// fetcher looks for a card.
type fetcher struct {
	client *http.Client
	opts   *Options
}

// find returns the card that belongs to rawURL, as it is used and as it came, and
// the URL that it came from.
func (f *fetcher) find(ctx context.Context, rawURL string) (*a2a.AgentCard, json.RawMessage, *url.URL, error) {
	base, err := parseBase(rawURL)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, place := range places(base) {
		card, raw, err := f.get(ctx, place.url)
		if absent(err) || err == nil && place.root && !lists(card, base) {
			continue
		}
		return card, raw, place.url, err
	}
	return nil, nil, nil, ErrNoCard
}

// place is where a card may be.
type place struct {
	url *url.URL
	// root is set for the card of the whole host, which is the wrong agent unless it
	// lists the URL that was asked for.
	root bool
}

func places(base *url.URL) []place {
	if strings.HasSuffix(base.Path, ".json") {
		return []place{{url: base}}
	}
	var all []place
	for _, path := range wellKnown {
		all = append(all, place{url: base.JoinPath(path)})
	}
	if strings.Trim(base.Path, "/") != "" {
		root := &url.URL{Scheme: base.Scheme, Host: base.Host}
		for _, path := range wellKnown {
			all = append(all, place{url: root.JoinPath(path), root: true})
		}
	}
	return all
}

// parseBase reads the URL of an agent; a bare "host:port" means http on a loopback
// host and https elsewhere.
func parseBase(rawURL string) (*url.URL, error) {
	if rawURL != "" && !strings.Contains(rawURL, "://") {
		scheme := "https://"
		if Loopback(rawURL) {
			scheme = "http://"
		}
		rawURL = scheme + rawURL
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL", rawURL)
	}
	u.Fragment = ""
	return u, nil
}

// get fetches the card at u.
func (f *fetcher) get(ctx context.Context, u *url.URL) (*a2a.AgentCard, json.RawMessage, error) {
	ctx, cancel := withTimeout(ctx, f.opts.timeout())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header = f.opts.headers(nil)
	req.Header.Set("Accept", "application/json, application/a2a+json")
	req.Header.Set("A2A-Version", string(a2a.Version))
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, nil, explain(ctx, err)
	}
	raw, err := readBounded(resp.Body, maxCard)
	if err != nil {
		return nil, nil, fmt.Errorf("read card: %w", err)
	}
	card, err := parseCard(raw)
	return card, raw, err
}

// parseCard reads a card. The SDK refuses a whole card for security requirements in
// the protocol's own spelling, so they are put into the SDK's. It does so for security
// schemes that it does not know, too; such a card is read without them.
func parseCard(raw []byte) (*a2a.AgentCard, error) {
	card := new(a2a.AgentCard)
	first := json.Unmarshal(raw, card)
	if first == nil {
		return card, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members["name"] == nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCard, first)
	}
	bareScopes(members)
	if card := ofMembers(members); card != nil {
		return card, nil
	}
	delete(members, "securitySchemes")
	delete(members, "securityRequirements")
	if card := ofMembers(members); card != nil {
		return card, nil
	}
	return nil, fmt.Errorf("read card: %w", first)
}

// ofMembers returns the card with the members, or nil if they make none.
func ofMembers(members map[string]json.RawMessage) *a2a.AgentCard {
	raw, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	card := new(a2a.AgentCard)
	if json.Unmarshal(raw, card) != nil {
		return nil
	}
	return card
}

// absent reports whether err means that there is nothing at the URL.
func absent(err error) bool {
	var e *Error
	if errors.Is(err, ErrNoCard) {
		return true
	}
	return errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed ||
		e.Status == http.StatusGone)
}

// lists reports whether card has an interface at u.
func lists(card *a2a.AgentCard, u *url.URL) bool {
	for _, i := range card.SupportedInterfaces {
		if i == nil {
			continue
		}
		at, err := url.Parse(i.URL)
		if err == nil && strings.Trim(at.Path, "/") == strings.Trim(u.Path, "/") {
			return true
		}
	}
	return false
}
