package signature

import (
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/internal/json/jcs"
)

// Form is one way to make the bytes of a card over which it is signed. The
// specification's own (§8.4.1) is not what the official SDKs of Python and JavaScript
// make, so that there are several.
type Form uint8

const (
	// Exact is the form of the specification: the fields of the protocol alone, without
	// those that have their default and are neither required nor optional.
	Exact Form = iota
	// Dense is Exact without anything that is empty, wherever it stands: texts, lists and
	// objects, also required ones. The official SDKs of Python (1.2) and JavaScript
	// (1.3) make it.
	Dense
	// Received is the document as it came, with all its fields. It is verified, not made.
	Received
)

// forms are all of them, in the order in which they are tried.
var forms = [...]Form{Exact, Dense, Received}

// String returns the name of f.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

var formNames = [...]string{Exact: "exact", Dense: "dense", Received: "received"}

// Canonical returns the bytes over which the card in doc, a document of v1.0, is signed.
// The signatures in it are left out.
func Canonical(doc []byte, f Form) ([]byte, error) {
	// Two members of one name are refused here, before a decoder chooses one of them.
	if _, err := jcs.Append(nil, doc); err != nil {
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
	return jcs.Append(nil, text)
}

// dense returns v without what is empty; nil if nothing is left.
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
