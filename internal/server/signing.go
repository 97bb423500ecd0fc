package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/secret/signature"
)

// signing signs the cards of the hub. The zero value signs nothing.
type signing struct {
	signers []*signature.Signer
	keySet  []byte
}

// keySetPath is the path at which the hub serves the keys that sign its cards.
const keySetPath = "/.well-known/jwks.json"

// openSigning reads the keys that sign the cards of the hub.
func (h *Hub) openSigning() error {
	for _, path := range h.cfg.Cards.SigningKeys {
		s, err := readSigner(path)
		if err != nil {
			return configf("cards.signing_keys: %s: %w", path, err)
		}
		if h.cfg.PublicURL != "" {
			s.KeysURL = h.cfg.Issuer() + keySetPath
		}
		h.signing.signers = append(h.signing.signers, s)
	}
	if len(h.signing.signers) == 0 {
		return nil
	}
	var err error
	h.signing.keySet, err = signature.JWKS(h.signing.signers...)
	return err
}

// maxKeyFile is the maximum size of a file with keys in bytes.
const maxKeyFile = 1 << 20

func readSigner(path string) (*signature.Signer, error) {
	size, err := atomicfile.PrivateSize(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("file not found; create one with: " +
			"openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE && chmod 600 FILE")
	case err != nil:
		return nil, err
	case size > maxKeyFile:
		return nil, fmt.Errorf("has %d bytes, which is too large for a key", size)
	}
	text, err := textfile.Read(path)
	if err != nil {
		return nil, err
	}
	return signature.ParseSigner(text)
}

// signer returns a function that signs cards, or nil.
func (s *signing) signer() func([]byte) ([]a2a.AgentCardSignature, error) {
	if len(s.signers) == 0 {
		return nil
	}
	return func(doc []byte) ([]a2a.AgentCardSignature, error) { return signature.Make(doc, s.signers...) }
}

type cardVerifier struct {
	signature.Verifier
	required bool
}

// newCardVerifier returns nil if signatures are not verified. It fetches key sets with client.
func newCardVerifier(c *config.Cards, client *http.Client) (*cardVerifier, error) {
	if !c.Verify() {
		return nil, nil
	}
	v := &cardVerifier{required: c.RequireSignatures}
	v.KeysURLs, v.Sets = c.TrustedKeySets, &keySets{client: client}
	for _, path := range c.TrustedKeys {
		text, err := textfile.Read(path)
		if err != nil {
			return nil, configf("cards.trusted_keys: %w", err)
		}
		keys, err := signature.ParseKeys(text)
		if err != nil {
			return nil, configf("cards.trusted_keys: %s: %w", path, err)
		}
		v.Keys = append(v.Keys, keys...)
	}
	return v, nil
}

// check returns the signed content of the card if a trusted key has signed it. Otherwise it
// returns the card unchanged, or an error if signatures are required.
func (v *cardVerifier) check(ctx context.Context, c *card.Card) (*card.Card, error) {
	proof, err := v.Verify(ctx, c.Raw)
	switch {
	case err == nil:
	case v.required:
		return nil, err
	default:
		return c, nil
	}
	signed, err := card.Read(proof.Document)
	if err != nil {
		return nil, fmt.Errorf("the part of the card that is signed: %w", err)
	}
	signed.ETag, signed.SignedBy, signed.Fallback = c.ETag, proof.KeyID, c.Fallback
	signed.SetFrom(c.From)
	return signed, nil
}

// keySets fetches and caches the key sets of other hubs.
type keySets struct {
	client *http.Client

	mu   sync.Mutex // guards the field below; also held while a set is fetched
	sets map[string]fetchedSet
}

type fetchedSet struct {
	text []byte
	at   time.Time
}

const (
	// keySetAge is the time for which a fetched key set is used.
	keySetAge = 10 * time.Minute
	// keySetTime is the maximum time to fetch a key set.
	keySetTime = 10 * time.Second
)

// KeySet implements signature.KeySets. It fetches configured addresses only.
func (k *keySets) KeySet(ctx context.Context, address string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, ok := k.sets[address]; ok && time.Since(s.at) < keySetAge {
		return s.text, nil
	}
	text, err := k.fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	if k.sets == nil {
		k.sets = make(map[string]fetchedSet)
	}
	k.sets[address] = fetchedSet{text, time.Now()}
	return text, nil
}

func (k *keySets) fetch(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keySetTime)
	defer cancel()
	client, release := httpcall.Client(k.client)
	defer release()
	text, err := httpcall.Get(ctx, client, address, maxKeyFile)
	return slices.Clip(text), err
}
