// Package jcs writes JSON in the canonical form of RFC 8785 (JSON Canonicalization Scheme). A
// signature over that form can be verified by every reader of the same values.
//
// Numbers are doubles (RFC 8785 §3.2.2.3): integers beyond 2⁵³ lose their last digits, as with
// all writers of this form.
package jcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrNumber is returned for a number beyond the range of doubles.
var ErrNumber = errors.New("number is too large for a double")

// Canonical returns the canonical form of a JSON text. Texts without one are invalid: a name that
// occurs twice in an object, a number beyond the range of doubles, invalid UTF-8, unpaired surrogates.
// The error wraps ErrNumber or a *jsontext.SyntacticError.
func Canonical(text []byte) ([]byte, error) {
	for d := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() == '0' {
			if _, err := strconv.ParseFloat(token.String(), 64); err != nil { // Canonicalize would write the largest double
				return nil, fmt.Errorf("%.40s: %w", token.String(), ErrNumber)
			}
		}
	}
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	return v, nil
}
