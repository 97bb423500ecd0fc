package check

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// fetched returns the card, or notOffered.
func (p *probe) fetched() (*wire.Exchange, error) {
	if p.run.card == nil {
		return nil, notOffered("there is no card to check")
	}
	return p.run.fetched, nil
}

func cardFound(_ context.Context, p *probe) error {
	x := p.run.fetched
	switch {
	case x.Err != nil:
		return failf(x, "no answer: %v", x.Err)
	case x.Status != http.StatusOK:
		return failf(x, "the status is %d", x.Status)
	case p.run.card == nil:
		return failf(x, "the answer is not a JSON object")
	}
	return nil
}

// current is fetched, for requirements that do not apply to cards of v0.3.
func (p *probe) current() (*wire.Exchange, error) {
	if isLegacy(p.run.card) {
		return nil, notOffered("the card is one of v0.3")
	}
	return p.fetched()
}

func cardBindings(_ context.Context, p *probe) error {
	x, err := p.current()
	if err != nil {
		return err
	}
	for i, iface := range list(p.run.card, "supportedInterfaces") {
		if name := text(iface, "protocolBinding"); name != "" && bindings[name] == "" && !customBinding(name) {
			return failf(x, "interface %d has the binding %q", i+1, name)
		}
	}
	return nil
}

func cardURLs(_ context.Context, p *probe) error {
	x, err := p.current()
	if err != nil {
		return err
	}
	for i, iface := range list(p.run.card, "supportedInterfaces") {
		binding := text(iface, "protocolBinding")
		if binding != "JSONRPC" && binding != "HTTP+JSON" {
			continue
		}
		u, err := url.Parse(text(iface, "url"))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return failf(x, "interface %d has the URL %q", i+1, text(iface, "url"))
		}
	}
	return nil
}

func cardSecurity(_ context.Context, p *probe) error {
	x, err := p.current()
	if err != nil {
		return err
	}
	requirements := list(p.run.card, "securityRequirements")
	for _, s := range list(p.run.card, "skills") {
		requirements = append(requirements, list(s, "securityRequirements")...)
	}
	for _, r := range requirements {
		schemes, _ := at(r, "schemes").(map[string]any)
		if _, object := at(r, "schemes").(map[string]any); !object && has(r, "schemes") {
			return failf(x, "a security requirement is %s", compact(r))
		}
		for name := range schemes {
			if !has(at(p.run.card, "securitySchemes"), name) {
				return failf(x, "a security requirement names %q, which is not a scheme of the card", name)
			}
		}
	}
	return nil
}

var schemeArms = []string{"apiKeySecurityScheme", "httpAuthSecurityScheme", "oauth2SecurityScheme", "openIdConnectSecurityScheme", "mtlsSecurityScheme"}

func cardSchemes(_ context.Context, p *probe) error {
	x, err := p.current()
	if err != nil {
		return err
	}
	schemes, _ := at(p.run.card, "securitySchemes").(map[string]any)
	for name, s := range schemes {
		if got := arms(s, schemeArms...); len(got) != 1 {
			return failf(x, "the scheme %q has %q", name, got)
		}
	}
	return nil
}

func cardReachable(ctx context.Context, p *probe) error {
	x, err := p.fetched()
	if err != nil {
		return err
	}
	if len(p.run.targets) == 0 {
		return notOffered("the card offers no interface that can be called")
	}
	for _, f := range slices.Concat(p.run.targets, p.run.again) {
		if f.err != nil {
			return failf(x, "%s at %s: %v", f.iface, f.iface.URL, f.err)
		}
		if answer := f.first(ctx); answer.Err != nil {
			return with(failf(answer, "%s at %s: %v", f.iface, f.iface.URL, answer.Err), x)
		}
	}
	if left := p.run.report.LeftOut; len(left) > 0 {
		return notOfferedf("not every interface can be called: %s", strings.Join(left, "; "))
	}
	return nil
}

func cardConditional(ctx context.Context, p *probe) error {
	x, err := p.fetched()
	if err != nil {
		return err
	}
	etag := x.Header.Get("ETag")
	if etag == "" {
		return notOffered("the card has no ETag")
	}
	again := p.run.http.Do(ctx, wire.Plain{Method: http.MethodGet, URL: p.run.cardURL, Header: http.Header{"If-None-Match": {etag}}})
	if again.Status != http.StatusNotModified {
		return failf(again, "the status is %d, want 304", again.Status)
	}
	return nil
}
