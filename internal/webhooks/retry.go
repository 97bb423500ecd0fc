package webhooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

const (
	// maxAnswer is the number of bytes of a response that are read so that its connection can
	// be reused, and answerTime the time for that.
	maxAnswer  = 64 << 10
	answerTime = time.Second
)

var (
	errForgotten = errors.New("webhook was changed")
	errTimeout   = errors.New("no answer in time")
)

// try sends a webhook the notification of one version.
func (d *Dispatcher) try(ctx context.Context, h *hook, t *target, n *notice) (v tryResult) {
	ctx, span := t.withOrigin(ctx)
	defer func() { v.observe(ctx, span) }()
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Timeout, errTimeout)
	defer cancel()
	req, err := d.request(ctx, h, t, n)
	switch {
	case errors.Is(err, errEnded):
		return tryResult{outcome: hookGone, reason: err.Error()}
	case errors.Is(err, errUnknown):
		return tryResult{outcome: retry, reason: err.Error()}
	case err != nil:
		return tryResult{outcome: undeliverable, reason: err.Error()}
	}
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return classifyError(err)
	}
	enough := time.AfterFunc(answerTime, cancel)
	defer enough.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // the status has decided already
	resp.Body.Close()
	return classify(resp.StatusCode, resp.Header, time.Now())
}

// errEnded is the reason of the dead letters of a webhook whose credentials have ended. Its text is
// for operators.
var errEnded = errors.New("the API key or certificate with which it was registered has expired or was revoked")

// errUnknown is the reason of a further try. Its text is for operators.
var errUnknown = errors.New("the API key or certificate with which it was registered cannot be checked now")

// request builds the notification of a version. The text of its error is for operators.
func (d *Dispatcher) request(ctx context.Context, h *hook, t *target, n *notice) (*http.Request, error) {
	secret, err := d.unseal(t)
	if err != nil {
		return nil, err
	}
	if secret.Key != "" && d.cfg.Valid != nil {
		switch valid, known := d.cfg.Valid(secret.Key); {
		case !known:
			return nil, errUnknown
		case !valid:
			return nil, errEnded
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(n.body))
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	set := func(name, value string) { req.Header[name] = []string{value} }
	set("Content-Type", t.mediaType())
	set("User-Agent", "parley/"+d.cfg.Version)
	if v := t.version(); v != "" {
		set("A2a-Version", v)
	}
	if dialect.Of(t.shape()).Pushing.Bearer && secret.Token != "" {
		set("Authorization", "Bearer "+secret.Token) // where receivers of the dialect look for it
	}
	if t.scheme != "" && secret.Credentials != "" {
		set("Authorization", t.scheme+" "+secret.Credentials)
	}
	if secret.Token != "" {
		set("A2a-Notification-Token", secret.Token)
		set("X-A2a-Notification-Token", secret.Token)
	}
	trace.Inject(ctx, req.Header)
	d.setHeaders(req.Header, notificationID(&t.head, h.id, n.Version), n.body)
	return req, nil
}

// notificationID returns the id of a notification: the same for each try, and unique otherwise.
// It is a hash, because its parts may contain characters that a header must not.
func notificationID(head *task.Head, id string, version int64) string {
	sum := sha256.New()
	for _, s := range []string{string(head.Owner), string(head.ID), id} {
		_ = binary.Write(sum, binary.BigEndian, uint32(len(s))) // a hash never fails
		_, _ = io.WriteString(sum, s)
	}
	_ = binary.Write(sum, binary.BigEndian, version)
	return "ntf_" + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:18])
}
