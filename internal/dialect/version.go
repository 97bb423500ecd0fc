package dialect

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Supported lists the protocol versions that the v1.0 surfaces serve.
const Supported = "1.0"

// Surface is the HTTP surface that received a request.
type Surface uint8

const (
	// RPC is v1.0 JSON-RPC. A call must name its version.
	RPC Surface = iota
	// LenientRPC is RPC where a call without a version counts as v1.0.
	LenientRPC
	// REST is v1.0 HTTP+JSON below /v1/a2a. A call without a version counts as v1.0.
	REST
	// RESTMessages is REST for clients that read the answer in a message.
	RESTMessages
	// RPCMessages is RPC for clients that read messages.
	RPCMessages
)

// Version checks the values of the A2A-Version header and query parameter (specification §3.6).
// It accepts "1.0" and every patch version of it. A version that is not served gives an error
// wrapping a2a.ErrVersionNotSupported. A missing version gives the same error on RPC, where the
// specification reads it as 0.3.
func Version(values []string, s Surface) error {
	named := false
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		named = true
		switch {
		case served(v):
		case s != REST && servedAs(v, legacy):
			return s.unsupported("a method of version %s was called with version %q, which does not have it", Supported, clip(v)).
				With("requestedVersion", clip(v))
		default:
			return s.unsupported("protocol version %q is not supported here", clip(v)).
				With("requestedVersion", clip(v))
		}
	}
	if !named && s == RPC {
		return s.unsupported("the A2A-Version header is missing, which means version 0.3; send A2A-Version: %s", Supported)
	}
	return nil
}

// unsupported returns an error that names the versions served at the address of the surface.
// Both versions of JSON-RPC share one address.
func (s Surface) unsupported(format string, args ...any) *apierror.Error {
	all := []string{Supported, legacy}
	if s == REST {
		all = all[:1]
	}
	return apierror.New(a2a.ErrVersionNotSupported, format+"; supported: %s", append(args, strings.Join(all, ", "))...).
		With("supportedVersions", strings.Join(all, ","))
}

func served(v string) bool { return servedAs(v, Supported) }

// servedAs reports whether v is version or a patch of it.
func servedAs(v, version string) bool {
	patch, ok := strings.CutPrefix(v, version)
	if !ok || patch == "" {
		return ok
	}
	digits := strings.TrimPrefix(patch, ".")
	return digits != "" && digits != patch && strings.Trim(digits, "0123456789") == ""
}
