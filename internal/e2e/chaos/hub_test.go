package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// event is one server-sent event.
type event struct {
	id   string
	data string
}

// events reads server-sent events and calls f for each, until f has seen enough or
// the connection ends.
func events(r io.Reader, f func(event) bool) error {
	for ev, err := range hubtest.Events(r) {
		if err != nil {
			return err
		}
		if !f(event{ev.ID, ev.Data}) {
			return nil
		}
	}
	return nil
}

func post(ctx context.Context, url, body string, header ...string) (*http.Response, error) {
	return hubtest.Do(ctx, hubtest.Request{Method: http.MethodPost, URL: url, Body: body, Header: header})
}

func message(id, text string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, id, text)
}
