package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// exchange sends a form to the token endpoint, with the credentials of the client, and returns the
// members of the answer (RFC 6749 §2.3.1, §4.1.3 and §5). Errors do not contain the answer.
func (p *Provider) exchange(ctx context.Context, d *document, ask url.Values) (map[string]any, error) {
	basic := p.ClientSecret != "" && d.basic()
	if !basic {
		ask.Set("client_id", p.ClientID) // a public client sends its id alone
		if p.ClientSecret != "" {
			ask.Set("client_secret", p.ClientSecret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Token, strings.NewReader(ask.Encode()))
	if err != nil {
		return nil, unavailable(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientSecret))
	}
	resp, err := p.Client.Do(r)
	if err != nil {
		return nil, unavailable(err)
	}
	body, err := httpcall.ReadBounded(resp.Body, maxDocument)
	if err != nil {
		return nil, unavailable(err)
	}
	got, err := members(resp.Header.Get("Content-Type"), body)
	access, _ := got["access_token"].(string)
	code, _ := got["error"].(string)
	description, _ := got["error_description"].(string)
	switch failed := resp.StatusCode < 200 || resp.StatusCode > 299; {
	case err == nil && code != "":
		return nil, fmt.Errorf("%w: the token endpoint answers %.80q: %.200q", ErrRefused, code, description)
	case failed:
		return nil, fmt.Errorf("%w: the token endpoint answers %s", ErrUnavailable, resp.Status)
	case err != nil:
		return nil, unavailable(err)
	case access == "":
		return nil, fmt.Errorf("%w: the provider gave no access token", ErrUnavailable)
	}
	return got, nil
}

// members returns the members of an answer of the token endpoint: JSON, or a form from providers
// older than the specification.
func members(kind string, body []byte) (all map[string]any, err error) {
	kind, _, _ = mime.ParseMediaType(kind) // without a type it is JSON
	if kind != "application/x-www-form-urlencoded" && kind != "text/plain" {
		if json.Unmarshal(body, &all) != nil {
			return nil, errors.New("the response of the token endpoint is not a JSON object")
		}
		return all, nil
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("the response of the token endpoint is not a form")
	}
	all = make(map[string]any)
	for name := range values {
		all[name] = values.Get(name)
	}
	return all, nil
}

// unavailable returns the error of a provider that cannot be used.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }
