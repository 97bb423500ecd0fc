package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/client"
)

const (
	// listTimeout bounds the question for the agents of a hub, which only serves to
	// explain a mistake.
	listTimeout = 2 * time.Second
	// maxListed is how many agents an explanation names.
	maxListed = 20
)

// missing says which agents there are, if err is that the one with the given name is
// not there.
func (t *target) missing(ctx context.Context, err error) error {
	if t.Agent == "" || !errors.Is(err, client.ErrNoCard) {
		return err
	}
	names := t.agents(ctx)
	if len(names) == 0 {
		return fmt.Errorf("there is no agent %q at %s", t.Agent, t.URL)
	}
	return fmt.Errorf("there is no agent %q at %s; the agents there are %s", t.Agent, t.URL, strings.Join(names, ", "))
}

// agents returns the names of the agents if the URL is that of a hub that tells
// them, and nothing otherwise.
func (t *target) agents(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var list struct {
		Agents []struct {
			Name string `json:"name"`
		} `json:"agents"`
	}
	hub := t.hub()
	if hub.ask(ctx, "GET /api/v1/agents", nil, &list) != nil {
		return nil
	}
	var names []string
	for _, a := range list.Agents {
		if len(names) == maxListed {
			return append(names, "…")
		}
		names = append(names, a.Name)
	}
	return names
}
