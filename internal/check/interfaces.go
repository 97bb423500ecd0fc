package check

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// bindings maps the names of bindings in cards.
var bindings = map[string]wire.Binding{"JSONRPC": wire.JSONRPC, "HTTP+JSON": wire.REST, "GRPC": wire.GRPC}

// offers are the interfaces of a card that can be called.
type offers struct {
	only []wire.Binding
	// all are the first interfaces of each binding and version; again are the others.
	all, again []wire.Interface
	// unknown lists the other interfaces with the reason why they cannot be called.
	unknown []string
}

// offersOf returns the interfaces of a card. If only is not empty, it returns only these bindings.
func offersOf(card any, only []wire.Binding) *offers {
	o := &offers{only: only}
	for _, i := range list(card, "supportedInterfaces") {
		o.add(text(i, "protocolBinding"), text(i, "protocolVersion"), text(i, "url"), text(i, "tenant"))
	}
	old := text(card, "protocolVersion")
	if at := text(card, "url"); at != "" || old != "" {
		preferred := text(card, "preferredTransport")
		if preferred == "" {
			preferred = "JSONRPC"
		}
		o.add(preferred, old, at, "")
	}
	for _, i := range list(card, "additionalInterfaces") {
		o.add(text(i, "transport"), old, text(i, "url"), "")
	}
	return o
}

// add adds an interface to the right list.
func (o *offers) add(binding, version, at, tenant string) {
	b, v := bindings[binding], versionOf(version)
	leave := func(reason string) {
		o.unknown = append(o.unknown, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", binding, version, at)), " ")+": "+reason)
	}
	switch {
	case b == "" && customBinding(binding):
		leave("a custom binding, which this check does not speak")
	case b == "":
		leave(fmt.Sprintf("%q is not a binding of the protocol", binding))
	case v == "":
		leave(fmt.Sprintf("version %q must be %s or %s", version, version1, version0))
	case at == "":
		leave("there is no URL")
	case len(o.only) > 0 && !slices.Contains(o.only, b):
	default:
		i := wire.Interface{Binding: b, Version: v, URL: at, Tenant: tenant}
		first := slices.IndexFunc(o.all, func(f wire.Interface) bool { return f.Binding == i.Binding && f.Version == i.Version })
		switch {
		case first < 0:
			o.all = append(o.all, i)
		case o.all[first] != i:
			o.again = append(o.again, i)
		}
	}
}

// versionOf returns the version to test for a version in a card, or the empty string.
func versionOf(version string) string {
	for _, v := range []string{version1, version0} {
		if version == v || strings.HasPrefix(version, v+".") {
			return v
		}
	}
	return ""
}

// customBinding reports whether a name is that of a custom binding (specification §5.8), which
// is a URI.
func customBinding(name string) bool {
	u, err := url.Parse(name)
	return err == nil && u.IsAbs()
}

// isLegacy reports whether a card is one of v0.3 alone, to which §8 of v1.0 does not apply.
func isLegacy(card any) bool {
	return strings.HasPrefix(text(card, "protocolVersion"), "0.") && !has(card, "supportedInterfaces")
}
