package rockbothttp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Webhook receives the notifications of a gateway.
type Webhook struct {
	// URL is the address of the webhook.
	URL string
	// Notes receives the notifications in order of arrival.
	Notes <-chan Frame

	token string
	mu    sync.Mutex // guards the field below
	bad   []string
}

// maxNotes is the number of notifications that a webhook keeps for the test.
const maxNotes = 1000

// StartWebhook starts a receiver that requires token as a bearer token, like RockBot's gateway.
// It ends with the test, which fails if a notification was not a StreamResponse.
func StartWebhook(tb testing.TB, token string) *Webhook {
	tb.Helper()
	notes := make(chan Frame, maxNotes)
	w := &Webhook{Notes: notes, token: token}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f, err := w.read(r)
		if err != nil {
			w.mu.Lock()
			w.bad = append(w.bad, err.Error())
			w.mu.Unlock()
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		select {
		case notes <- f:
		case <-r.Context().Done():
		}
	}))
	w.URL = s.URL
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, problem := range w.bad {
			tb.Errorf("a receiver of RockBot's webhooks would refuse the notification: %s", problem)
		}
	})
	return w
}

func (w *Webhook) read(r *http.Request) (Frame, error) {
	if got := r.Header.Get("Authorization"); got != "Bearer "+w.token {
		return Frame{}, fmt.Errorf("authorization is %q", got)
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return Frame{}, err
	}
	e, err := ReadEvent(raw)
	return Frame{Event: e, Raw: json.RawMessage(raw)}, err
}
