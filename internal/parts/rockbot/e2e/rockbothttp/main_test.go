package rockbothttp_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(8) // tests wait for the hub to try again
	goleak.VerifyTestMain(hubtest.M{M: m})
}

// patience is the time limit for expected events.
const patience = 4 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// at returns a caller for a path of a hub.
func at(h *hubtest.Hub, path, key string) *rockbothttp.Caller {
	return &rockbothttp.Caller{URL: h.URL() + path, Key: key}
}

// message returns the params of a text in the document's form, with more members of the
// message.
func message(text, skill, more string) string {
	params := `{"message":{"role":"user","parts":[{"text":"` + text + `"}]` + more + `}`
	if skill != "" {
		params += `,"metadata":{"skill":"` + skill + `"}`
	}
	return params + "}"
}

// next returns the next notification.
func next(t *testing.T, w *rockbothttp.Webhook) rockbothttp.Frame {
	t.Helper()
	select {
	case f := <-w.Notes:
		return f
	case <-time.After(patience):
		t.Fatal("no notification came")
		return rockbothttp.Frame{}
	}
}
