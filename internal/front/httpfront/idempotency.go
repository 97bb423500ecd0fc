package httpfront

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// keyHeader names a message that must not be taken twice.
const keyHeader = "Idempotency-Key"

// idempotencyKey returns the key of a message, if keys count here and it has one. A
// caller who relies on a key must not be mistaken about it, so one that is no key is
// refused.
func (x *exchange) idempotencyKey() (string, error) {
	if !x.front.keys {
		return "", nil
	}
	values, there := x.r.Header[keyHeader]
	switch {
	case !there:
		return "", nil
	case len(values) != 1 || values[0] == "":
		return "", apierror.Field(a2a.ErrInvalidParams, keyHeader, "must have one value, which is not empty")
	}
	return values[0], nil
}
