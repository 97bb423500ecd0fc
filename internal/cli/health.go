package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/doctor"
)

type healthCmd struct {
	hubFlags
	Timeout time.Duration `help:"How long to wait for the answer." default:"5s" placeholder:"TIME"`
}

// readiness is the answer of /readyz.
type readiness struct {
	Checks []doctor.Check `json:"checks"`
}

func (c *healthCmd) Run(ctx context.Context, _ *OS) error {
	ctx, stop := context.WithTimeoutCause(ctx, c.Timeout, &exit{exitUnreachable, fmt.Errorf("%s has not answered within %v", c.URL, c.Timeout)})
	defer stop()
	resp, err := c.open(ctx, "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var r readiness
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&r); err != nil || len(r.Checks) == 0 {
		return fmt.Errorf("%s: HTTP %s", c.URL, resp.Status)
	}
	var failing []string
	for _, check := range r.Checks {
		if !check.OK {
			failing = append(failing, strings.TrimSuffix(check.Name+": "+check.Detail, ": "))
		}
	}
	return fmt.Errorf("the hub is not ready: %s", strings.Join(failing, "; "))
}
