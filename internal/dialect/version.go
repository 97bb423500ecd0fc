package dialect

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/fault"
)

// Supported lists the protocol versions that the v1.0 surfaces serve.
const Supported = "1.0"

// Surface is where a request came in.
type Surface uint8

const (
	// RPC is v1.0 JSON-RPC. A call must name its version.
	RPC Surface = iota
	// LenientRPC is RPC where a call without a version counts as v1.0.
	LenientRPC
	// REST is v1.0 HTTP+JSON below /v1/a2a. A call without a version counts as v1.0.
	REST
)

// Version checks the values of the A2A-Version header and query parameter
// (specification §3.6). "1.0" is served, and so is every patch of it; the patch
// number does not count. A version that is not served gives an error wrapping
// a2a.ErrVersionNotSupported, and so does none at all on RPC, where it would mean
// 0.3.
func Version(values []string, s Surface) error {
	named := false
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		named = true
		if !served(v) {
			return fault.New(a2a.ErrVersionNotSupported,
				"protocol version %q is not supported here; supported: %s", clip(v), Supported).
				With("supportedVersions", Supported).
				With("requestedVersion", clip(v))
		}
	}
	if !named && s == RPC {
		return fault.New(a2a.ErrVersionNotSupported,
			"the A2A-Version header is missing, which means version 0.3; send A2A-Version: %s", Supported).
			With("supportedVersions", Supported)
	}
	return nil
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
