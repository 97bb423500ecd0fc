package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/transcript"
)

// TestProfileTranscripts checks the requirements of the kits in the form of transcripts.
// Requests have A2A-Version 1.0 unless they set another one; $URL is the address of the hub. In
// files whose names end in -off the hub has no streams and no webhooks.
func TestProfileTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Suite{
		Files:   "testdata/profile/*.txtar",
		Headers: []string{"Content-Type"},
		Start: func(t *testing.T, s transcript.Story) transcript.Server {
			off := strings.HasSuffix(s.Name, "-off")
			p := startProfile(t, serveCmd{NoStreaming: off, NoPush: off})
			return transcript.Server{
				Do: p.exchange,
				Masks: []transcript.Mask{
					{Name: "$URL", Pattern: regexp.MustCompile(regexp.QuoteMeta(p.url))},
					{Name: "$GRPC", Pattern: regexp.MustCompile(`"url":"(127\.0\.0\.1:[0-9]+)"`)},
				},
			}
		},
	}.Run(t)
}

// exchange is do for a transcript.
func (p *profiled) exchange(r transcript.Request) transcript.Response {
	p.t.Helper()
	resp, body := p.do(r.Method, r.Path, r.Body, r.Headers...)
	return transcript.Response{Code: resp.StatusCode, Header: resp.Header, Body: strings.TrimSpace(body)}
}
