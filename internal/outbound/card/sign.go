package card

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Signatures returns the result of Options.Sign for the card that JSON writes for c, for
// bindings with an encoding of their own. It returns nil without Options.Sign. In every layout,
// the signed document is that of v1.0 (specification §8.4).
func Signatures(c *a2a.AgentCard, o *Options) ([]a2a.AgentCardSignature, error) {
	if o.Sign == nil {
		return nil, nil
	}
	plain := *o
	plain.Layout, plain.BareScopes, plain.Sign = V1, false, nil
	doc, err := JSON(c, &plain)
	if err != nil {
		return nil, err
	}
	list, err := o.Sign(doc)
	if err != nil {
		return nil, fmt.Errorf("card of %q: %w", c.Name, err)
	}
	return list, nil
}
