package signature

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
)

// ErrUnsigned is returned for a card without signatures.
var ErrUnsigned = errors.New("card is not signed")

// ErrUntrusted is returned for a card without a signature that a trusted key verifies.
var ErrUntrusted = errors.New("no signature of the card can be trusted")

const (
	// maxSignatures limits the number of signatures of a card.
	maxSignatures = 16
	// maxHeader limits the text of a protected header, in bytes.
	maxHeader = 4 << 10
)

// KeySets fetches key sets.
type KeySets interface {
	// KeySet returns the key set at an https address, as JSON.
	KeySet(ctx context.Context, address string) ([]byte, error)
}

// PinnedKey is a trusted public key.
type PinnedKey struct {
	// ID is the id of the key (kid); empty if the key matches any id.
	ID string
	// Key is the public key.
	Key crypto.PublicKey
}

// Verifier verifies signatures of cards. The zero Verifier trusts no key.
type Verifier struct {
	// Keys are the trusted keys.
	Keys []PinnedKey
	// KeysURLs are the allowed addresses of key sets, compared exactly with the address in a
	// card.
	KeysURLs []string
	// Sets fetches these key sets. If nil, none are fetched.
	Sets KeySets
}

// Proof is the result of a verification.
type Proof struct {
	// KeyID and Algorithm are those of the verified signature.
	KeyID, Algorithm string
	// KeysURL is the address of the key set with the key; empty if the key was pinned.
	KeysURL string
	// Form is the signed form of the card.
	Form Form
	// Document is the signed content of the card, without unsigned additions.
	Document []byte
}

// Verify returns the first trusted signature of the card in doc. The error wraps ErrUnsigned or
// ErrUntrusted, and gives the reason for each signature.
func (v *Verifier) Verify(ctx context.Context, doc []byte) (*Proof, error) {
	var card struct {
		Signatures []a2a.AgentCardSignature `json:"signatures"`
	}
	if err := json.Unmarshal(doc, &card); err != nil {
		return nil, fmt.Errorf("verify card: %w", err)
	}
	switch n := len(card.Signatures); {
	case n == 0:
		return nil, ErrUnsigned
	case n > maxSignatures:
		return nil, fmt.Errorf("%w: it has %d; the maximum is %d", ErrUntrusted, n, maxSignatures)
	}
	payloads, err := canonicals(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	var problems []error
	for i := range card.Signatures {
		proof, err := v.verify(ctx, &card.Signatures[i], payloads)
		if err == nil {
			return proof, nil
		}
		problems = append(problems, fmt.Errorf("signatures[%d]: %w", i, err))
	}
	return nil, fmt.Errorf("%w: %w", ErrUntrusted, errors.Join(problems...))
}

// canonicals returns the bytes of all forms of a card.
func canonicals(doc []byte) ([][]byte, error) {
	var all [][]byte
	for _, f := range forms {
		b, err := Canonical(doc, f)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// verify verifies one signature over one of the payloads.
func (v *Verifier) verify(ctx context.Context, s *a2a.AgentCardSignature, payloads [][]byte) (*Proof, error) {
	h, err := readHeader(s.Protected)
	if err != nil {
		return nil, err
	}
	keys, from, err := v.keys(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		alg, err := algorithmOf(key)
		if err != nil || string(alg) != h.Algorithm {
			continue
		}
		for i, payload := range payloads {
			if verifies(s, payload, key, alg) {
				return &Proof{
					KeyID: h.KeyID, Algorithm: h.Algorithm, KeysURL: from, Form: forms[i], Document: payload,
				}, nil
			}
		}
	}
	return nil, fmt.Errorf("key %q: the card has changed since it was signed, or was signed with another key", h.KeyID)
}

func verifies(s *a2a.AgentCardSignature, payload []byte, key crypto.PublicKey, alg jose.SignatureAlgorithm) bool {
	jws, err := jose.ParseDetached(s.Protected+".."+s.Signature, payload, []jose.SignatureAlgorithm{alg})
	if err != nil {
		return false
	}
	return jws.DetachedVerify(payload, key) == nil
}

// header is the content of a protected header.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	KeysURL   string `json:"jku"`
}

// algorithms are the accepted algorithms.
var algorithms = []string{string(jose.ES256), string(jose.EdDSA), string(jose.RS256)}

func readHeader(protected string) (*header, error) {
	if len(protected) > maxHeader {
		return nil, fmt.Errorf("the protected header has more than %d bytes", maxHeader)
	}
	text, err := base64.RawURLEncoding.DecodeString(protected)
	if err != nil {
		return nil, errors.New("the protected header is not base64url")
	}
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, errors.New("the protected header is not a JSON object")
	}
	if !slices.Contains(algorithms, h.Algorithm) {
		return nil, fmt.Errorf("algorithm %.20q is not one of %s", h.Algorithm, strings.Join(algorithms, ", "))
	}
	if h.KeyID == "" {
		return nil, errors.New("the protected header has no kid")
	}
	return &h, nil
}

// keys returns the trusted keys for a header, and the address of their key set.
func (v *Verifier) keys(ctx context.Context, h *header) (keys []crypto.PublicKey, from string, err error) {
	for _, k := range v.Keys {
		if k.ID == "" || k.ID == h.KeyID {
			keys = append(keys, k.Key)
		}
	}
	switch {
	case len(keys) > 0:
		return keys, "", nil
	case h.KeysURL == "":
		return nil, "", fmt.Errorf("key %.60q is not known", h.KeyID)
	case !slices.Contains(v.KeysURLs, h.KeysURL) || v.Sets == nil:
		return nil, "", fmt.Errorf("keys at %.200q are not trusted", h.KeysURL)
	}
	if u, err := url.Parse(h.KeysURL); err != nil || u.Scheme != "https" {
		return nil, "", fmt.Errorf("keys at %.200q do not come over https", h.KeysURL)
	}
	text, err := v.Sets.KeySet(ctx, h.KeysURL)
	if err != nil {
		return nil, "", fmt.Errorf("keys at %s: %w", h.KeysURL, err)
	}
	set, unread := readSet(text)
	for _, k := range set {
		if k.KeyID == h.KeyID && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k.Key)
		}
	}
	switch {
	case len(keys) == 0 && unread != nil:
		return nil, "", fmt.Errorf("keys at %s: %w", h.KeysURL, unread)
	case len(keys) == 0:
		return nil, "", fmt.Errorf("key %.60q is not among those at %s", h.KeyID, h.KeysURL)
	}
	return keys, h.KeysURL, nil
}
