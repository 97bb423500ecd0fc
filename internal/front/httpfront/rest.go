package httpfront

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

// serveREST answers a request of HTTP+JSON (specification §11).
func (x *exchange) serveREST() {
	x.in = takeBuffer()
	defer x.release()
	err := dialect.Version(x.versions(), dialect.REST)
	if err == nil {
		err = x.readREST()
	}
	if err == nil {
		err = x.callREST(x.in.b)
	}
	if err != nil {
		x.fail(err)
	}
}

// versions returns the version that a request names, in the header or in the query (specification
// §3.6.1).
func (x *exchange) versions() []string {
	versions := x.r.Header[versionHeader]
	if query := x.r.URL.RawQuery; len(query) >= len(versionHeader) && strings.Contains(strings.ToLower(query), "a2a-version") {
		values, _ := url.ParseQuery(query) // the decoder of the call reports other errors
		for name, v := range values {
			if strings.EqualFold(name, versionHeader) {
				versions = append(versions[:len(versions):len(versions)], v...)
			}
		}
	}
	return versions
}

// specified reports whether the statuses are those of the specification. Clients of this
// surface that expect other statuses name no version; official clients, some of which fail with
// others, must name theirs.
func (x *exchange) specified() bool {
	return x.route.legacy || x.front.cfg.SpecStatuses || len(x.versions()) > 0
}

// takesIDs reports whether the caller may choose the id of a new task. The protocol reserves
// that to the server (specification §3.4.2), so a caller that names a version of the protocol
// must activate the extension, unless the hub is configured for clients that name both a version and
// an id.
func (x *exchange) takesIDs() bool {
	rest := x.route.kind >= atSend && x.route.kind <= atExtendedCard && !x.route.legacy
	if !rest || !x.front.cfg.Engine.ClientIDs() {
		return false
	}
	return x.front.cfg.Choices.ClientIDs || len(x.versions()) == 0 || slices.Contains(x.caller.Extensions, card.ClientTaskIDs)
}

// readREST reads the body, if there is one.
func (x *exchange) readREST() error {
	if x.r.Method != http.MethodPost || x.r.ContentLength == 0 && x.bodyOptional() {
		return nil
	}
	if !x.bodyOptional() || x.r.Header.Get("Content-Type") != "" {
		if err := x.contentType(mediaJSON, mediaA2A); err != nil {
			return err
		}
	}
	return x.readBody()
}

// bodyOptional reports whether the operation allows an empty body.
func (x *exchange) bodyOptional() bool {
	return x.route.kind == atCancel || x.route.kind == atSubscribe
}

// callREST performs the operation of the path.
func (x *exchange) callREST(body []byte) error {
	id, query := a2a.TaskID(x.route.task), x.r.URL.RawQuery
	switch d := &x.front.decoder; x.route.kind {
	case atSend:
		r, err := d.SendAt(body)
		return x.send(r, err)
	case atStream:
		r, err := d.SendAt(body)
		return x.stream(r, err)
	case atTasks:
		r, err := d.ListAt(query)
		return x.list(r, err)
	case atTask:
		r, err := d.GetAt(id, query)
		return x.get(r, err)
	case atCancel:
		r, err := d.CancelAt(id, body)
		return x.cancel(r, err)
	case atSubscribe:
		r, err := d.SubscribeAt(id, query, body)
		return x.subscribe(r, err)
	case atExtendedCard:
		r, err := d.ExtendedAt(query)
		return x.extendedCard(r, err)
	}
	return x.pushREST(body)
}
