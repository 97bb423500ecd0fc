package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/suggest"
)

const (
	// listTimeout bounds the request for the agents of a hub, which only serves to explain an
	// error.
	listTimeout = 2 * time.Second
	// maxListed is the maximum number of agents that an explanation names.
	maxListed = 20
)

// missing adds the names of the existing agents to err, if err means that the agent of the
// flags does not exist.
func (t *target) missing(ctx context.Context, err error) error {
	if t.Agent == "" || !errors.Is(err, client.ErrNoCard) {
		return err
	}
	names, meant := t.agents(ctx)
	switch {
	case meant != "":
		return fmt.Errorf("there is no agent %q at %s; it is called %s there", t.Agent, t.URL, meant)
	case len(names) == 0:
		return fmt.Errorf("there is no agent %q at %s", t.Agent, t.URL)
	}
	all := "the agents there are " + strings.Join(names, ", ")
	if near := suggest.Nearest(t.Agent, names); near != "" {
		all = "did you mean " + near + "? T" + all[1:]
	}
	return fmt.Errorf("there is no agent %q at %s; %s", t.Agent, t.URL, all)
}

// agents returns the names of the agents if the URL is that of a hub that lists them. meant is
// the name of the agent whose title was given as its name.
func (t *target) agents(ctx context.Context) (names []string, meant string) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var list struct {
		Agents []struct {
			Name  string `json:"name"`
			Title string `json:"title"`
		} `json:"agents"`
	}
	hub := t.hub()
	if hub.ask(ctx, "GET /api/v1/agents", nil, &list) != nil {
		return nil, ""
	}
	for _, a := range list.Agents {
		if t.Agent == a.Title || strings.EqualFold(t.Agent, a.Name) {
			meant = a.Name
		}
		if len(names) < maxListed {
			names = append(names, a.Name)
		}
	}
	if len(list.Agents) > maxListed {
		names = append(names, "…")
	}
	return names, meant
}
