package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

const (
	// maxToken bounds the answer of a token endpoint.
	maxToken = 1 << 20
	// tokenTimeout bounds a request for a token.
	tokenTimeout = 30 * time.Second
	// tokenMargin is how long before its expiry a token is renewed.
	tokenMargin = 30 * time.Second
	// tokenLife is how long a token without an expiry is used.
	tokenLife = 5 * time.Minute
)

// tokens gets tokens by the client credentials flow and caches them until they expire.
type tokens struct {
	creds  *transport.ClientCredentials
	url    string
	client *http.Client

	turn  chan struct{} // guards the fields below; the holder fetches for all callers
	token string
	until time.Time
}

// newTokens returns the source of tokens, or nil if the credentials have none.
func newTokens(o *Options, card *a2a.AgentCard, trusted func(*url.URL) bool, client *http.Client) (*tokens, error) {
	c := o.Credentials.OAuth2
	if c == nil {
		return nil, nil
	}
	at := c.TokenURL
	if at == "" {
		at = tokenURL(card)
		u, err := url.Parse(at)
		if at == "" || err != nil || !trusted(u) {
			return nil, refuse("OAuth2 needs a token URL: the card names none on its own host")
		}
	}
	return &tokens{creds: c, url: at, client: client, turn: make(chan struct{}, 1)}, nil
}

func tokenURL(card *a2a.AgentCard) string {
	for _, scheme := range card.SecuritySchemes {
		if o, ok := scheme.(a2a.OAuth2SecurityScheme); ok {
			if f, ok := o.Flows.(a2a.ClientCredentialsOAuthFlow); ok && f.TokenURL != "" {
				return f.TokenURL
			}
		}
	}
	return ""
}

// get returns a token that is valid for some time.
func (t *tokens) get(ctx context.Context) (string, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if t.token != "" && time.Now().Before(t.until) {
		return t.token, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tokenTimeout, fmt.Errorf("no token within %v", tokenTimeout))
	defer cancel()
	token, life, err := t.fetch(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("%w: token of %s: %w", transport.ErrCredentials, redactedURL(t.url), httpcall.Reason(err))
	}
	t.token, t.until = token, time.Now().Add(life)
	return token, nil
}

func (t *tokens) fetch(ctx context.Context) (string, time.Duration, error) {
	req, err := t.request(ctx)
	if err != nil {
		return "", 0, err
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return "", 0, err
	}
	body, err := httpcall.ReadBounded(resp.Body, maxToken)
	if err != nil {
		return "", 0, err
	}
	var answer struct {
		Token   string      `json:"access_token"`
		Expires json.Number `json:"expires_in"`
		Error   string      `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Token == "" {
		return "", 0, fmt.Errorf("HTTP %d: %s", resp.StatusCode, cmp.Or(answer.Error, "no access_token"))
	}
	life := tokenLife
	if n, ok := rawjson.Int([]byte(answer.Expires)); ok && n > 0 {
		life = time.Duration(min(n, 1<<31)) * time.Second
	}
	return answer.Token, max(life-tokenMargin, life/2), nil
}

func (t *tokens) request(ctx context.Context) (*http.Request, error) {
	secret := t.creds.ClientSecret
	if secret == "" && t.creds.ClientSecretEnv != "" {
		var err error
		if secret, err = fromEnv(t.creds.ClientSecretEnv); err != nil {
			return nil, err
		}
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(t.creds.Scopes) > 0 {
		form.Set("scope", strings.Join(t.creds.Scopes, " "))
	}
	for name, v := range t.creds.Params {
		form.Set(name, v)
	}
	if t.creds.InBody {
		form.Set("client_id", t.creds.ClientID)
		form.Set("client_secret", secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the token URL is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if !t.creds.InBody {
		req.SetBasicAuth(url.QueryEscape(t.creds.ClientID), url.QueryEscape(secret))
	}
	return req, nil
}

func redactedURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the token URL"
	}
	u.RawQuery = ""
	return u.Redacted()
}
