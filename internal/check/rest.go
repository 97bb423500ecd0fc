package check

import (
	"context"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func restRequirements() []requirement {
	on := wire.REST
	return []requirement{
		should("rest.type", "§11.1", "An answer is application/a2a+json, or application/json.", restType, on),
		must("rest.error-body", "§11.6", "An error is an object \"error\" with code, status and message, and the code is the HTTP status.", notFound(restErrorBody), on),
		must("rest.parse-error", "§3.3.2", "A body that is not JSON is status 400.", restBody("application/json", `{"message":`, http.StatusBadRequest), on),
		should("rest.wrong-type", "§11.1", "A body of another media type is refused.",
			restBody("text/plain", "hello", http.StatusUnsupportedMediaType, http.StatusBadRequest), on),
		should("rest.bad-query", "§11.5", "A query parameter that cannot be read is refused as invalid.", restBadQuery, on),
		must("rest.unknown-path", "§11.3", "A path that does not exist is an error.", restUnknownPath, on),
		should("rest.subscribe", "§11.3", "Subscribing works with POST as with GET.", restSubscribe, on),
	}
}

// plainly sends a request to a path below the interface.
func (p *probe) plainly(ctx context.Context, method, path, mediaType, body string) *wire.Exchange {
	header := http.Header{"Accept": {"application/json"}, "A2a-Version": {p.iface.Version}}
	if mediaType != "" {
		header.Set("Content-Type", mediaType)
	}
	base := strings.TrimRight(p.iface.URL, "/")
	if p.iface.Tenant != "" {
		base += "/" + p.iface.Tenant
	}
	return p.ask("", func() *wire.Exchange {
		return p.run.http.Do(ctx, wire.Plain{Method: method, URL: base + path, Body: []byte(body), Header: header})
	})
}

func restType(ctx context.Context, p *probe) error {
	x := p.plain(ctx)
	if x.Err != nil {
		return require(ok(x))
	}
	if got := wire.MediaType(x.Header); got != "application/a2a+json" && got != "application/json" {
		return failf(x, "the answer has the media type %q", got)
	}
	return nil
}

func restErrorBody(x *wire.Exchange) error {
	e := at(x.Envelope, "error")
	if text(e, "status") == "" || text(e, "message") == "" {
		return failf(x, "the error has status %s and message %s", compact(at(e, "status")), compact(at(e, "message")))
	}
	if got := compact(at(e, "code")); got != compact(x.Status) {
		return failf(x, "the error has code %s, but the HTTP status is %d", got, x.Status)
	}
	return nil
}

// restBody returns a check that a message with this body has one of the statuses.
func restBody(mediaType, body string, statuses ...int) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		x := p.plainly(ctx, http.MethodPost, "/message:send", mediaType, body)
		if x.Err != nil {
			return ok(x)
		}
		for _, s := range statuses {
			if x.Status == s {
				return nil
			}
		}
		return failf(x, "the status is %d, want %d", x.Status, statuses[0])
	}
}

func restBadQuery(ctx context.Context, p *probe) error {
	x := p.plainly(ctx, http.MethodGet, "/tasks?pageSize=many", "", "")
	if x.Err != nil {
		return ok(x)
	}
	if x.Status != http.StatusBadRequest {
		return failf(x, "the status is %d, want 400", x.Status)
	}
	return nil
}

func restUnknownPath(ctx context.Context, p *probe) error {
	x := p.plainly(ctx, http.MethodGet, "/no/such/path", "", "")
	if x.Err != nil {
		return ok(x)
	}
	if x.Status < 400 || x.Status >= 500 {
		return failf(x, "the status is %d, want 404", x.Status)
	}
	return nil
}

func restSubscribe(ctx context.Context, p *probe) error {
	if err := p.needs("streaming"); err != nil {
		return err
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		x := p.plainly(ctx, method, "/tasks/"+unknownID()+":subscribe", "", "")
		if x.Err != nil {
			return ok(x)
		}
		if x.Status == http.StatusMethodNotAllowed || x.Status != http.StatusNotFound || at(x.Envelope, "error") == nil {
			return failf(x, "subscribing with %s to a task that does not exist has status %d", method, x.Status)
		}
	}
	return nil
}
