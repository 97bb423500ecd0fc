package acts

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// kinds maps abstract errors whose names differ from the specification's.
var kinds = map[string]wire.Kind{
	"StreamingNotSupportedError":    wire.Unsupported,
	"ExtendedCardNotSupportedError": wire.Unsupported,
}

// expectFault compares an error with an expectation. "code" is an alias of "error_type", and
// "data" is the whole value that contains the details.
func expectFault(want map[string]any, f *wire.Fault) error {
	if f == nil {
		return &mismatch{"", "an error " + shown(want), "no error"}
	}
	for _, name := range []string{"error_type", "code"} {
		if kind, ok := want[name]; ok {
			if err := isKind(kind, f); err != nil {
				return err
			}
		}
	}
	if m, ok := want["message"]; ok {
		if err := match("error.message", m, value{f.Message, f.Message != ""}); err != nil {
			return err
		}
	}
	if d, ok := want["data"]; ok {
		if err := match("error.data", d, value{f.Data, f.Data != nil}); err != nil {
			return err
		}
	}
	if d, ok := want["details"]; ok {
		return inDetails(d, f)
	}
	return nil
}

// isKind checks whether an error is of a kind: a name, a number for JSON-RPC, or one of
// several.
func isKind(want any, f *wire.Fault) error {
	switch want := want.(type) {
	case string:
		kind := wire.Kind(want)
		if k, ok := kinds[want]; ok {
			kind = k
		}
		if !kind.Known() {
			return unclear(fmt.Sprintf("unknown error type %q", want))
		}
		if !f.Is(kind) {
			return &mismatch{"", want, "an " + f.String()}
		}
		return nil
	case map[string]any:
		list, _ := want["one_of"].([]any)
		for _, one := range list {
			if isKind(one, f) == nil {
				return nil
			}
		}
		if len(list) > 0 {
			return &mismatch{"", "one of " + shown(list), "an " + f.String()}
		}
	}
	return match("error.code", want, value{number(f.Code), true})
}

// inDetails evaluates an assertion on the details: on all of them, on one, or on the metadata
// of one.
func inDetails(want any, f *wire.Fault) error {
	views := []any{f.Data}
	for _, d := range f.Details {
		views = append(views, d)
		if m, ok := d.(map[string]any); ok && m["metadata"] != nil {
			views = append(views, m["metadata"])
		}
	}
	return matchAny("error.details", want, views)
}

// matchAny returns nil if one of the views matches. Otherwise it returns the mismatch of the
// first.
func matchAny(path string, want any, views []any) error {
	var first error
	for _, v := range views {
		err := match(path, want, value{v, v != nil})
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
