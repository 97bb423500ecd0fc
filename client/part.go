package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

var (
	// ErrElsewhere means that the content of a part is at an address outside of the agent's
	// origin. No request was sent.
	ErrElsewhere = peer.ErrElsewhere
	// ErrDamaged means that the content of a part does not match the digest in the part.
	ErrDamaged = errors.New("the content does not match the digest of the part")
)

// partMark is the metadata member in which a Parley hub describes the content behind a part's
// url.
const partMark = "parley.part"

// Open returns the bytes of a part with raw bytes, or with the url of a large part on the
// agent's own origin, which is requested with the credentials of the Client. A url elsewhere is
// ErrElsewhere. If the part has a digest and the content does not match it, reading to the end
// returns ErrDamaged. The caller must close the result; it ends with ctx.
func (c *Client) Open(ctx context.Context, p *a2a.Part) (io.ReadCloser, error) {
	switch content := p.Content.(type) {
	case a2a.Raw:
		return io.NopCloser(bytes.NewReader(content)), nil
	case a2a.URL:
		r, err := c.peer.Part(ctx, string(content))
		if err != nil {
			return nil, err
		}
		return verified(r, p), nil
	}
	return nil, fmt.Errorf("open part: it has neither bytes nor a url: %w", a2a.ErrInvalidParams)
}

// verified returns r, or a reader of it that checks the digest, if the part has one.
func verified(r io.ReadCloser, p *a2a.Part) io.ReadCloser {
	mark, _ := p.Metadata[partMark].(map[string]any)
	digest, _ := mark["sha256"].(string)
	if digest == "" {
		return r
	}
	return &verifier{ReadCloser: r, want: digest, sum: sha256.New()}
}

// verifier checks the digest of the content at its end.
type verifier struct {
	io.ReadCloser

	want string
	sum  hash.Hash
}

// Read implements io.Reader.
func (v *verifier) Read(b []byte) (int, error) {
	n, err := v.ReadCloser.Read(b)
	v.sum.Write(b[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.sum.Sum(nil)) != v.want {
		return n, ErrDamaged
	}
	return n, err
}
