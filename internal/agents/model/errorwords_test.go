package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/testing/labeltest"
)

// An error of the protocol has words of the agent: they are labelled, and the hub's words around them
// are left out. Other errors are labelled as a whole, and the model's own mistakes are not.
func TestWordsOfErrors(t *testing.T) {
	t.Parallel()
	s, d := &session{agent: new(Agent)}, &Delegate{ID: "far"}
	for name, tt := range map[string]struct {
		err     error
		shown   string
		without string
	}{
		"of the protocol":          {fmt.Errorf("send to http://inside: %w", a2a.NewError(a2a.ErrInvalidParams, labeltest.Text)), labeltest.Text, "http://inside"},
		"of the protocol, no text": {fmt.Errorf("send: %w", a2a.NewError(a2a.ErrInvalidParams, "")), "send", "\x00"},
		"another":                  {errors.New(labeltest.Name), labeltest.Name, "\x00"},
	} {
		text := s.words(d, tt.err).String()
		if !strings.Contains(text, tt.shown) || strings.Contains(text, tt.without) || !strings.HasPrefix(text, "<quoted id=") || !strings.Contains(text, `from="agent/far"`) {
			t.Errorf("the error %s is shown as %s", name, text)
		}
		labeltest.Check(t, name, text)
	}
	if got := s.words(d, &ended{reason: "too many rounds"}).String(); got != "too many rounds" {
		t.Errorf("the model's own mistake is shown as %s", got)
	}
}
