package httpfront

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// keyHeader is the header with the idempotency key of a message.
const keyHeader = "Idempotency-Key"

// idempotencyKey returns the key of a message, if keys are enabled and the message has one. An
// invalid key is refused, because its caller relies on it.
func (x *exchange) idempotencyKey() (string, error) {
	if !x.front.keys {
		return "", nil
	}
	values, there := x.r.Header[keyHeader]
	switch {
	case !there:
		return "", nil
	case len(values) != 1 || values[0] == "":
		return "", apierror.Field(a2a.ErrInvalidParams, keyHeader, "must have exactly one non-empty value")
	}
	return values[0], nil
}
