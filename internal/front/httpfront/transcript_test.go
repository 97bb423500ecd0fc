package httpfront_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/testing/transcript"
)

// shown lists the headers that transcripts include.
var shown = []string{"Allow", "Cache-Control", "Content-Type", "Retry-After", "WWW-Authenticate"}

// TestTranscripts replays the transcripts. Besides times and ids, $REF is a reference and
// $TOKEN a page token. Only the hub of the transcripts about push sends push notifications, and
// only that of bad input authenticates callers.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Suite{
		Files:   "testdata/*.txtar",
		Headers: shown,
		Start: func(t *testing.T, s transcript.Story) transcript.Server {
			var cfg engine.Config
			if strings.HasSuffix(s.Name, "-push") {
				cfg.Push = new(enginetest.Pusher)
			}
			front := httpfront.Config{Engine: startEngineWith(t, cfg, everyone()...)}
			if strings.HasPrefix(s.Name, "bad-") {
				front.Auth = byKey()
			}
			h := startHub(t, front)
			return transcript.Server{Do: h.exchange, Masks: []transcript.Mask{
				{Name: "$REF", Pattern: regexp.MustCompile(`"reference":"([0-9a-f]{16})"`)},
				{Name: "$TOKEN", Pattern: regexp.MustCompile(`"nextPageToken":"([\w-]+)"`)},
			}}
		},
	}.Run(t)
}

// exchange is do for a transcript.
func (h *hub) exchange(r transcript.Request) transcript.Response {
	h.t.Helper()
	return h.do(r.Method, r.Path, r.Body, r.Headers...).response()
}

func (a *answer) response() transcript.Response {
	return transcript.Response{Code: a.code, Header: a.header, Body: a.body}
}

// String returns an answer in the form of transcripts.
func (a *answer) String() string { return a.response().Text(shown...) }
