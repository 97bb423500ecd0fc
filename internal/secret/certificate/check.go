package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
)

// Check returns the first error in a rule; it begins with the name of the field.
func (r *Rule) Check() error {
	switch r.Field {
	case URI, DNS, Email, CommonName, Fingerprint:
	default:
		return fmt.Errorf("field: a certificate has no field %q", r.Field)
	}
	if slices.ContainsFunc(r.Principal.Roles, func(role string) bool { return strings.HasPrefix(role, auth.RoleBus) }) {
		return errors.New("roles: a role for workers at the bus belongs to a key")
	}
	if r.Value == "" {
		return r.checkEach()
	}
	if r.Name != "" {
		return errors.New("name: is for rules about each certificate of an authority")
	}
	if err := checkValue(r.Field, r.Value); err != nil {
		return fmt.Errorf("%s: %w", r.Field, err)
	}
	if err := r.Principal.Check(); err != nil {
		return fmt.Errorf("agent_id: %w", err)
	}
	return nil
}

// checkEach is Check for a rule without a Value.
func (r *Rule) checkEach() error {
	switch {
	case r.Field == Fingerprint:
		return errors.New("each: a fingerprint cannot identify a caller")
	case r.Name == "" || strings.ContainsFunc(r.Name, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}):
		return errors.New("name: must be letters, digits, - and _: its callers are called name:VALUE")
	case r.Principal.ID != "" || r.Principal.DisplayName != "":
		return errors.New("agent_id: is for rules about one certificate; its callers are called name:VALUE")
	case r.Principal.Org == auth.Local:
		return fmt.Errorf("owner: a rule for many callers cannot make them the owner %q, which is reserved for callers without credentials", auth.Local)
	}
	p := r.Principal
	p.ID = r.Name + ":x"
	if err := p.Check(); err != nil {
		return fmt.Errorf("roles: %w", err)
	}
	return nil
}

// checkValue returns an error for a value that no certificate should have, or that looks like a
// pattern.
func checkValue(f Field, value string) error {
	switch {
	case f == Fingerprint:
		if _, err := ParseFingerprint(value); err != nil {
			return err
		}
		return nil
	case f == CommonName:
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return errors.New("has an invisible character")
		}
		return nil
	case strings.Contains(value, "*"):
		return errors.New("is compared exactly: there are no patterns")
	case strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' }):
		return errors.New("has a character that is not visible ASCII")
	case f == DNS && strings.ContainsAny(value, ":/@"):
		return errors.New("is not a host name")
	case f == Email && !strings.Contains(value, "@"):
		return errors.New("is not an email address")
	case f == URI:
		if u, err := url.Parse(value); err != nil || u.Scheme == "" {
			return errors.New("is not a URI like spiffe://example.org/agent")
		}
	}
	return nil
}

// ParseFingerprint returns a fingerprint in the form of Rule.Value. It accepts hexadecimal
// digits in either case, with or without colons, and an optional prefix "sha256:".
func ParseFingerprint(text string) (string, error) {
	digits := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(text), "sha256:"), ":", "")
	if b, err := hex.DecodeString(digits); err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("is not the SHA-256 of a certificate: %d hexadecimal digits", 2*sha256.Size)
	}
	return digits, nil
}
