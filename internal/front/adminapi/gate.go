package adminapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/hosts"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

var (
	errNoAdmin = apierror.New(a2a.ErrUnauthorized, "this needs an administrator: a key with the role %s, or a caller on the hub's machine while callers need no key", auth.RoleAdmin)
	errOrigin  = apierror.New(a2a.ErrUnauthorized, "requests from pages of other sites are rejected")
)

// admit returns an error if the caller may not send r to a route.
func (h *Handler) admit(a access, r *http.Request) error {
	switch {
	case reads(r) && a != secret:
		return nil
	case h.Names.SameOrigin(r) != nil:
		return errOrigin
	case a == own:
		return nil
	case !administers(r, h.keyed):
		return errNoAdmin
	}
	return nil
}

// administers reports whether the caller is an administrator. keyed reports whether the hub has
// keys: then every administrator needs one, also if anonymous callers are allowed.
func administers(r *http.Request, keyed func() bool) bool {
	return admin(r) && !(auth.PrincipalFrom(r.Context()).Anonymous() && keyed())
}

// keyed reports whether keys for callers exist or existed.
func (h *Handler) keyed() bool { return h.Keys != nil && forCallers(h.Keys.List()) }

// forCallers reports whether one of the keys is for callers.
func forCallers(all []auth.Key) bool {
	return slices.ContainsFunc(all, func(k auth.Key) bool {
		_, bus := k.BusAgent()
		return !bus
	})
}

// admin reports whether the caller may change the hub: it has the role, or is anonymous and
// directly on this machine. A request that a proxy has passed on, or that names another host,
// as from a page with DNS rebinding, may come from any client.
func admin(r *http.Request) bool {
	p := auth.PrincipalFrom(r.Context())
	if !p.Anonymous() {
		return slices.Contains(p.Roles, auth.RoleAdmin)
	}
	return p != nil && auth.Proxied(r.Header.Values) == "" && auth.LocalPeer(r.RemoteAddr) && hosts.Loopback(r.Host)
}

// maxBody is the largest request of this API.
const maxBody = 64 << 10

// decodeUpTo decodes the body of r, a JSON object of at most that many bytes, into v. An empty
// body means an empty object. A member that v does not have is an error.
func decodeUpTo(r *http.Request, v any, most int) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	switch {
	case errors.Is(err, apierror.ErrExhausted):
		return err
	case err != nil:
		return apierror.New(a2a.ErrInvalidRequest, "the body did not arrive")
	case len(body) > most:
		return apierror.New(apierror.ErrTooLarge, "the body is larger than %d bytes", most)
	}
	// This type makes browsers send a preflight request, with or without a body.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return apierror.New(apierror.ErrMediaType, "the content type must be application/json")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	err = decode(body, v)
	if rawjson.WantsInt(err) {
		err = decode(rawjson.AppendInts(nil, body), v)
	}
	if err != nil {
		return badBody(err)
	}
	return nil
}

func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return apierror.New(a2a.ErrParseError, "the body has data after its end")
	}
	return nil
}

// badBody describes the error of a body, without repeating the body.
func badBody(err error) error {
	var kind *json.UnmarshalTypeError
	var known *apierror.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &kind) && kind.Field == "":
		return apierror.New(a2a.ErrInvalidParams, "the body must be an object, not %s", kind.Value)
	case errors.As(err, &kind):
		return apierror.Field(a2a.ErrInvalidParams, kind.Field, "must not be %s", kind.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		field := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return apierror.Field(a2a.ErrInvalidParams, field, "is not known here")
	}
	return apierror.New(a2a.ErrParseError, "the body is not JSON")
}
