package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// The tested versions.
const (
	version1 = "1.0"
	version0 = "0.3"
)

// ErrUnreachable is returned if there is no server at the URL.
var ErrUnreachable = errors.New("not reachable")

// Options select the server and the checks.
type Options struct {
	// URL is the URL above the agent's card, or of the card itself.
	URL string
	// Wire has the options of calls, including the credential.
	Wire wire.Options
	// Only lists ids of requirements, or their first words ("push"); empty means all.
	Only []string
	// Bindings are the bindings to test; empty means all in the card.
	Bindings []wire.Binding
	// Webhook is the URL of Listener for the agent. If empty, and both are on this machine, it
	// is derived from Listener.
	Webhook string
	// Listener receives notifications; Run closes it. If nil, Run listens on loopback if the
	// agent is on this machine.
	Listener net.Listener
	// Timeout bounds the whole run. The default is 10 min.
	Timeout time.Duration
}

// DefaultTimeout is the Timeout of the zero Options.
const DefaultTimeout = 10 * time.Minute

// run is the state of one run.
type run struct {
	options Options
	http    wire.HTTP
	cardURL string
	fetched *wire.Exchange
	card    any // nil if there is none
	targets []*target
	again   []*target       // further interfaces of a binding and version, which are only reached
	tainted map[string]bool // the tasks of malformed messages
	hooks   *hooks          // nil if the agent cannot reach them
	report  *Report
	redact  *wire.Redactor
}

// target is one interface of the card.
type target struct {
	iface wire.Interface
	probe *probe // nil if err is set
	err   error
}

// Run tests a server. The error is ErrUnreachable, or describes invalid options.
func Run(ctx context.Context, o Options) (*Report, error) {
	limit := o.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the check took longer than %v", limit))
	defer cancel()
	r := &run{options: o, report: &Report{URL: wire.NewRedactor(o.Wire.Key).Redact(o.URL)}}
	began := time.Now()
	if err := r.discover(ctx); err != nil {
		return nil, err
	}
	defer r.close()
	all := catalogue()
	r.judge(ctx, "", all.card, &probe{run: r})
	for _, f := range r.targets {
		if f.probe != nil && f.iface.Version == version1 {
			r.judge(ctx, f.iface.Binding, all.each, f.probe)
		}
	}
	r.judge(ctx, "", all.across, &probe{run: r})
	for _, f := range r.targets {
		if f.probe != nil && f.iface.Version == version0 {
			r.judge(ctx, f.iface.Binding, all.legacy, f.probe)
		}
	}
	r.report.Duration = time.Since(began).Seconds()
	if cause := context.Cause(ctx); cause != nil {
		return r.report, cause
	}
	return r.report, nil
}

// discover reads the card and connects to its interfaces.
func (r *run) discover(ctx context.Context) error {
	at, err := CardURL(r.options.URL)
	if err != nil {
		return err
	}
	r.cardURL, r.http = at, wire.HTTP{Options: r.options.Wire}
	r.fetched = r.http.Do(ctx, wire.Plain{Method: http.MethodGet, URL: at, Header: http.Header{"Accept": {"application/json"}}})
	if r.fetched.Err != nil && r.fetched.Status == 0 {
		return fmt.Errorf("get %s: %w: %w", wire.NewRedactor(r.options.Wire.Key).Redact(at), ErrUnreachable, r.fetched.Err)
	}
	if card, object := r.fetched.Envelope.(map[string]any); object && r.fetched.Status == http.StatusOK {
		r.card = card
	}
	r.options.Wire.KeyHeaders = keyHeaders(r.card)
	r.http.Options = r.options.Wire
	if err := r.listen(); err != nil {
		return err
	}
	secrets := []string{r.options.Wire.Key}
	if r.hooks != nil {
		secrets = append(secrets, r.hooks.secret)
	}
	r.redact = wire.NewRedactor(secrets...)
	offers := offersOf(r.card, r.options.Bindings)
	for _, i := range offers.all {
		r.targets = append(r.targets, r.connect(ctx, i))
		r.report.Interfaces = append(r.report.Interfaces, i.String()+" "+r.redact.Redact(i.URL))
	}
	for _, i := range offers.again {
		r.again = append(r.again, r.connect(ctx, i))
	}
	for _, left := range offers.unknown {
		r.report.LeftOut = append(r.report.LeftOut, r.redact.Redact(left))
	}
	return nil
}

func (r *run) connect(ctx context.Context, i wire.Interface) *target {
	f := &target{iface: i}
	if r.options.Wire.Key != "" && strings.HasPrefix(r.cardURL, "https:") && strings.HasPrefix(i.URL, "http:") {
		f.err = errors.New("the credential would travel in the clear, although the card came over TLS")
		return f
	}
	caller, err := wire.New(ctx, i, r.options.Wire)
	if err != nil {
		f.err = err
		return f
	}
	f.probe = &probe{run: r, iface: i, caller: caller, kept: map[string]*wire.Exchange{}, open: map[string]bool{}}
	return f
}

// first returns an answer of the interface, with any content.
func (t *target) first(ctx context.Context) *wire.Exchange {
	op, key := wire.GetTask, "first"
	if t.iface.Version == version0 {
		op = wire.LegacyGet
	}
	return t.probe.once(key, func() *wire.Exchange { return t.probe.call(ctx, op, map[string]any{"id": unknownID()}) })
}

func (r *run) close() {
	ctx, cancel := context.WithTimeout(context.Background(), wire.DefaultTimeout)
	defer cancel()
	for _, f := range slices.Concat(r.targets, r.again) {
		if f.probe != nil {
			for id := range f.probe.open {
				f.probe.caller.Call(ctx, wire.Request{Op: wire.CancelTask, Params: map[string]any{"id": id}})
			}
			_ = f.probe.caller.Close() // all answers have arrived
		}
	}
	if r.hooks != nil {
		_ = r.hooks.close() // no more notifications are expected
	}
}

// listen starts the webhook, if the agent can reach it.
func (r *run) listen() error {
	l, base := r.options.Listener, r.options.Webhook
	if l == nil {
		u, err := url.Parse(r.cardURL)
		if base != "" || err != nil || !httpcall.Loopback(u.Hostname()) {
			return nil
		}
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("listen for webhooks: %w", err)
		}
	}
	if base == "" {
		base = "http://" + l.Addr().String()
	}
	r.hooks = listenHooks(l, strings.TrimRight(base, "/"))
	return nil
}

// judge checks the requirements on one interface.
func (r *run) judge(ctx context.Context, b wire.Binding, all []requirement, p *probe) {
	for i := range all {
		q := &all[i]
		if b != "" && !q.on(b) || !selected(r.options.Only, q.ID) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		err := q.judge(ctx, p)
		if errors.Is(ctx.Err(), context.Canceled) {
			return // an interrupted request is no defect of the server
		}
		result := Result{Requirement: q.Requirement, Interface: "card", Duration: time.Since(began).Seconds()}
		if b != "" {
			result.Interface = p.iface.String()
		}
		r.conclude(&result, err)
		r.report.Results = append(r.report.Results, result)
	}
}

func (r *run) conclude(result *Result, err error) {
	var f *failure
	var n notOffered
	switch {
	case err == nil:
		result.Outcome = Pass
	case errors.As(err, &f):
		result.Outcome, result.Detail = Fail, r.redact.Redact(f.detail)
		for _, x := range f.shown {
			result.Evidence = append(result.Evidence, r.redact.Text(x))
		}
	case errors.As(err, &n):
		result.Outcome, result.Detail = NotOffered, r.redact.Redact(string(n))
	default:
		result.Outcome, result.Detail = Fail, r.redact.Redact(err.Error())
	}
}

// CardURL returns the URL of an agent's card, from the URL above it or its own. A bare
// "host:port" means http on a loopback host and https elsewhere.
func CardURL(raw string) (string, error) {
	if raw != "" && !strings.Contains(raw, "://") {
		host, _, _ := net.SplitHostPort(raw)
		scheme := "https://"
		if httpcall.Loopback(host) {
			scheme = "http://"
		}
		raw = scheme + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not an http or https URL", wire.NewRedactor().Redact(raw))
	}
	if !strings.HasSuffix(u.Path, ".json") {
		u = u.JoinPath("/.well-known/agent-card.json")
	}
	return u.String(), nil
}

// keyHeaders returns the headers in which the card requires an API key.
func keyHeaders(card any) []string {
	var all []string
	schemes, _ := at(card, "securitySchemes").(map[string]any)
	for _, s := range schemes {
		if k := at(s, "apiKeySecurityScheme"); text(k, "location") == "header" {
			all = append(all, text(k, "name"))
		}
		if text(s, "type") == "apiKey" && text(s, "in") == "header" {
			all = append(all, text(s, "name"))
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}
