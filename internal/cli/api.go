package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/version"
)

// hubFlags are the flags of the commands that use a hub's own interface, /api/v1.
type hubFlags struct {
	URL    string `help:"The URL of the hub ($$PARLEY_URL)." default:"${url}" from:"PARLEY_URL" placeholder:"URL"`
	APIKey string `name:"api-key" help:"The credential to send ($$PARLEY_API_KEY)." from:"PARLEY_API_KEY" placeholder:"KEY"`
	certFlags
}

// maxAnswer is the maximum size of an answer of a hub in bytes.
const maxAnswer = 64 << 20

// ask sends a request, which is a method and a path such as "GET /api/v1/keys". The body is in
// as JSON, unless in is nil. It decodes the answer into out.
func (f *hubFlags) ask(ctx context.Context, request string, in, out any) error {
	req, err := f.request(ctx, request, in)
	if err != nil {
		return err
	}
	here, err := f.direct()
	if err != nil {
		return err
	}
	defer here.CloseIdleConnections()
	resp, err := here.Do(req)
	if err != nil {
		return f.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return f.unreachable(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return f.refusal(resp, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s is not a Parley hub: unexpected response", f.URL)
	}
	return nil
}

// direct returns a client that follows no redirects, so that the credential is sent to the hub
// only.
func (f *hubFlags) direct() (*http.Client, error) {
	t, err := f.transport()
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, err
}

// maxEvent is the maximum size of an event of a stream in bytes.
const maxEvent = 1 << 20

// events opens a stream of events at a path below /api/v1. The caller closes its body, and the
// stream ends with ctx.
func (f *hubFlags) events(ctx context.Context, path string) (*http.Response, error) {
	return f.open(ctx, adminapi.Root+path)
}

// open sends a GET request. The caller closes the body of the answer, which may be an error.
func (f *hubFlags) open(ctx context.Context, path string) (*http.Response, error) {
	req, err := f.request(ctx, "GET "+path, nil)
	if err != nil {
		return nil, err
	}
	here, err := f.direct()
	if err != nil {
		return nil, err
	}
	resp, err := here.Do(req)
	if err != nil {
		here.CloseIdleConnections()
		return nil, f.unreachable(ctx, err)
	}
	resp.Body = &streamBody{resp.Body, here}
	return resp, nil
}

// streamBody closes the idle connections of its client when it is closed.
type streamBody struct {
	io.ReadCloser
	here *http.Client
}

// Close implements io.Closer.
func (b *streamBody) Close() error {
	defer b.here.CloseIdleConnections()
	return b.ReadCloser.Close()
}

func (f *hubFlags) request(ctx context.Context, request string, in any) (*http.Request, error) {
	method, path, _ := strings.Cut(request, " ")
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, f.base()+path, body)
	if err != nil {
		return nil, usagef("--url %q is not a URL", f.URL)
	}
	req.Header.Set("User-Agent", "parley/"+version.Version)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if f.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+f.APIKey)
	}
	return req, nil
}

// base returns the URL with a scheme. The default is https, and http for this machine.
func (f *hubFlags) base() string {
	base := f.URL
	if !strings.Contains(base, "://") {
		base = "https://" + base
		if client.Loopback(f.URL) {
			base = "http://" + f.URL
		}
	}
	return strings.TrimRight(base, "/")
}

func (f *hubFlags) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := ""
	if f.URL == defaultURL {
		hint = "; start a hub with: parley serve"
	}
	if op := new(net.OpError); errors.As(err, &op) {
		err = op.Err // the outer errors repeat the address
	}
	return fmt.Errorf("%s is %w: %w%s", f.URL, client.ErrUnreachable, err, hint)
}

func (f *hubFlags) refusal(resp *http.Response, body []byte) error {
	var answer struct {
		Error struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return fmt.Errorf("%s: HTTP %s", f.URL, resp.Status)
	}
	err := errors.New(answer.Error.Message)
	if resp.StatusCode == http.StatusUnauthorized {
		return unauthenticated(err, f.APIKey)
	}
	for _, d := range answer.Error.Details {
		if d.Reason == "TASK_NOT_FOUND" {
			return &apierror.Error{Err: a2a.ErrTaskNotFound, Message: answer.Error.Message}
		}
	}
	return err
}
