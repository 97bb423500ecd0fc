package check

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func cardRequirements() []requirement {
	return []requirement{
		must("card.found", "§8.2", "The card is at /.well-known/agent-card.json.", cardFound),
		should("card.type", "§14.3", "The card has the media type application/json or application/a2a+json.", cardType),
		must("card.fields", "§4.4.1", "The card has a name, a description, a version, capabilities and its lists.", cardFields),
		must("card.interfaces", "§8.3", "The card offers at least one interface, each with url, protocolBinding and protocolVersion.", cardInterfaces),
		must("card.bindings", "§5.8", "Each binding is JSONRPC, HTTP+JSON or GRPC, or a custom one, which a URI names.", cardBindings),
		should("card.versions", "§3.6", "The version of each interface is Major.Minor, without a patch.", cardVersions),
		must("card.urls", "§8.3.1", "URLs of interfaces are absolute.", cardURLs),
		must("card.skills", "§4.4.5", "Each skill has an id, a name, a description and tags.", cardSkills),
		must("card.capabilities", "§4.4.3", "The capabilities are true or false.", cardCapabilities),
		must("card.security", "§4.5", "Each security requirement names schemes that the card declares.", cardSecurity),
		must("card.schemes", "§4.5", "Each security scheme is exactly one of the kinds.", cardSchemes),
		must("card.reachable", "§8.3.1", "Behind each interface there is a server of that binding.", cardReachable),
		should("card.cache-control", "§8.6", "The card says how long it may be kept.", cardHeader("Cache-Control", "max-age")),
		should("card.etag", "§8.6", "The card has an ETag.", cardHeader("ETag", "")),
		should("card.conditional", "§8.6", "A card that has not changed is status 304.", cardConditional),
	}
}

// fetched returns the card, or notOffered.
func (p *probe) fetched() (*wire.Exchange, error) {
	if p.run.card == nil {
		return nil, notOffered("there is no card to look at")
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

func cardType(_ context.Context, p *probe) error {
	x, err := p.fetched()
	if err != nil {
		return err
	}
	if got := wire.MediaType(x.Header); got != "application/json" && got != "application/a2a+json" {
		return failf(x, "the media type is %q", got)
	}
	return nil
}

func cardFields(_ context.Context, p *probe) error {
	x, err := p.fetched()
	if err != nil {
		return err
	}
	for _, name := range []string{"name", "description", "version"} {
		if text(p.run.card, name) == "" {
			return failf(x, "%s is %s, want a text", name, compact(at(p.run.card, name)))
		}
	}
	for _, name := range []string{"defaultInputModes", "defaultOutputModes", "skills"} {
		if _, isList := at(p.run.card, name).([]any); !isList {
			return failf(x, "%s is %s, want an array", name, compact(at(p.run.card, name)))
		}
	}
	if _, object := at(p.run.card, "capabilities").(map[string]any); !object {
		return failf(x, "capabilities is %s, want an object", compact(at(p.run.card, "capabilities")))
	}
	return nil
}

// current is fetched for what v0.3 does not ask of its cards.
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

func cardVersions(_ context.Context, p *probe) error {
	x, err := p.current()
	if err != nil {
		return err
	}
	for i, iface := range list(p.run.card, "supportedInterfaces") {
		if v := text(iface, "protocolVersion"); v != "" && !majorMinor.MatchString(v) {
			return failf(x, "interface %d has the version %q", i+1, v)
		}
	}
	return nil
}

func cardInterfaces(_ context.Context, p *probe) error {
	x, err := p.current()
	if err != nil {
		return err
	}
	all := list(p.run.card, "supportedInterfaces")
	if len(all) == 0 {
		return failf(x, "supportedInterfaces is %s", compact(at(p.run.card, "supportedInterfaces")))
	}
	for i, iface := range all {
		for _, name := range []string{"url", "protocolBinding", "protocolVersion"} {
			if text(iface, name) == "" {
				return failf(x, "interface %d has no %s", i+1, name)
			}
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

func cardSkills(_ context.Context, p *probe) error {
	x, err := p.fetched()
	if err != nil {
		return err
	}
	for i, s := range list(p.run.card, "skills") {
		if text(s, "id") == "" || text(s, "name") == "" || text(s, "description") == "" {
			return failf(x, "skill %d lacks id, name or description", i+1)
		}
		if _, isList := at(s, "tags").([]any); !isList {
			return failf(x, "skill %d has no tags", i+1)
		}
	}
	return nil
}

func cardCapabilities(_ context.Context, p *probe) error {
	x, err := p.fetched()
	if err != nil {
		return err
	}
	for _, name := range []string{"streaming", "pushNotifications", "extendedAgentCard"} {
		if v := at(p.run.card, "capabilities", name); v != nil && v != true && v != false {
			return failf(x, "%s is %s", name, compact(v))
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
				return failf(x, "a security requirement names %q, which is no scheme of the card", name)
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

// cardHeader returns a check that the card came with a header that contains a text.
func cardHeader(name, contains string) func(context.Context, *probe) error {
	return func(_ context.Context, p *probe) error {
		x, err := p.current()
		if err != nil {
			return err
		}
		if got := x.Header.Get(name); got == "" || !strings.Contains(got, contains) {
			return failf(x, "%s is %q", name, got)
		}
		return nil
	}
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
