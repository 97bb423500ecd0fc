package signature

import (
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/internal/json/jcs"
)

// Form is a canonical form of a card for signatures. There are several, because the official
// SDKs of Python and JavaScript differ from the specification (§8.4.1).
type Form uint8

const (
	// Exact is the form of the specification: only the fields of the protocol, without fields
	// that have their default value and are neither required nor optional.
	Exact Form = iota
	// Dense is Exact without any empty text, list or object, including required ones. The
	// official SDKs of Python (1.2) and JavaScript (1.3) produce it.
	Dense
	// Received is the document as received, with all its fields. It is only verified, never
	// produced.
	Received
)

// forms are all forms, in the order in which they are tried.
var forms = [...]Form{Exact, Dense, Received}

// Canonical returns the signed bytes of the card in doc, a document of v1.0. Signatures in it
// are not included.
func Canonical(doc []byte, f Form) ([]byte, error) {
	// Duplicate names of members are refused here, because a decoder would choose one of them.
	if _, err := jcs.Canonical(doc); err != nil {
		return nil, fmt.Errorf("canonical card: %w", err)
	}
	var card map[string]any
	if err := json.Unmarshal(doc, &card); err != nil {
		return nil, fmt.Errorf("canonical card: %w", err)
	}
	delete(card, "signatures")
	switch f {
	case Exact:
		card = agentCard.strip(card)
	case Dense:
		card, _ = dense(agentCard.strip(card)).(map[string]any)
	}
	text, err := json.Marshal(card)
	if err != nil {
		return nil, fmt.Errorf("canonical card: %w", err)
	}
	return jcs.Canonical(text)
}

// dense returns v without empty values; nil if nothing remains.
func dense(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
	case []any:
		return denseList(v)
	case map[string]any:
		return denseObject(v)
	}
	return v
}

func denseList(list []any) any {
	var out []any
	for _, e := range list {
		if e = dense(e); e != nil {
			out = append(out, e)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

func denseObject(obj map[string]any) any {
	out := map[string]any{}
	for name, v := range obj {
		if v = dense(v); v != nil {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
