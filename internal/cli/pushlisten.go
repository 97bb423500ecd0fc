package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/push"
)

type pushListenCmd struct {
	Listen        string   `help:"The address to listen on; port 0 takes any." default:"127.0.0.1:4180" placeholder:"ADDR"`
	Token         string   `help:"The token that notifications must carry ($$PARLEY_PUSH_TOKEN)." from:"PARLEY_PUSH_TOKEN" placeholder:"TOKEN"`
	Authorization string   `help:"The scheme and credentials that notifications must carry ($$PARLEY_PUSH_AUTHORIZATION)." from:"PARLEY_PUSH_AUTHORIZATION" placeholder:"\"Bearer X\""`
	Secret        []string `help:"A secret that notifications may be signed with; may be repeated ($$PARLEY_PUSH_SECRET)." from:"PARLEY_PUSH_SECRET" placeholder:"whsec_…"`
	format
	Count int `help:"Stop after this many notifications; repeated ones do not count." placeholder:"N"`
}

// shutdownListen is the time that requests have to be answered at the end.
const shutdownListen = 5 * time.Second

// Run listens until it is interrupted or the requested number of notifications has arrived.
func (c *pushListenCmd) Run(in interrupts, o *OS) error {
	if c.Count < 0 {
		return usagef("--count must not be negative")
	}
	if scheme, credentials, _ := strings.Cut(c.Authorization, " "); c.Authorization != "" && (scheme == "" || credentials == "") {
		return usagef("--authorization is a scheme and credentials, such as \"Bearer abc\"")
	}
	rc := &push.Receiver{Token: c.Token, Authorization: c.Authorization}
	for _, s := range c.Secret {
		key, err := push.ParseSecret(s)
		if err != nil {
			return usagef("--secret: %w", err)
		}
		rc.Secrets = append(rc.Secrets, key)
	}
	l, err := server.Listen(in.soft, c.Listen, "--listen")
	if err != nil {
		return err
	}
	fmt.Fprint(o.Stderr, c.welcome(l.Addr().(*net.TCPAddr), o))
	return c.serve(in.soft, l, rc, o)
}

// serve accepts notifications until ctx ends, their number is reached, or printing fails.
func (c *pushListenCmd) serve(ctx context.Context, l net.Listener, rc *push.Receiver, o *OS) error {
	t := &notification{o: o, format: c.format, count: c.Count, enough: make(chan struct{})}
	rc.Handle, rc.Refused = t.handle, t.refused
	srv := &http.Server{
		Handler: rc, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ended := make(chan error, 1)
	wg.Go(func() { ended <- srv.Serve(l) })
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	case <-t.enough:
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownListen)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		srv.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// welcome returns a text that shows how to register this webhook. Its requests work literally,
// in a shell with the same environment; secrets of the environment stay variables.
func (c *pushListenCmd) welcome(addr *net.TCPAddr, o *OS) string {
	env := func(name string) string {
		if o.LookupEnv == nil {
			return ""
		}
		value, _ := o.LookupEnv(name)
		return value
	}
	// inShell returns text as JSON within single quotes, or the variable that it is from.
	inShell := func(text, variable, expansion string) string {
		if whole := env(variable); whole != "" && strings.HasSuffix(whole, text) {
			return `"'"` + expansion + `"'"`
		}
		encoded, _ := json.Marshal(text)
		return strings.ReplaceAll(string(encoded), "'", `'\''`)
	}
	at := server.Reachable(addr)
	config := fmt.Sprintf(`{"url":"http://%s/"`, at)
	if c.Token != "" {
		config += `,"token":` + inShell(c.Token, "PARLEY_PUSH_TOKEN", "$PARLEY_PUSH_TOKEN")
	}
	if scheme, credentials, _ := strings.Cut(c.Authorization, " "); scheme != "" {
		config += fmt.Sprintf(`,"authentication":{"scheme":%q,"credentials":%s}`, scheme,
			inShell(credentials, "PARLEY_PUSH_AUTHORIZATION", "${PARLEY_PUSH_AUTHORIZATION#* }"))
	}
	config += "}"
	headers := `-H 'A2A-Version: 1.0' -H 'Content-Type: application/json'`
	if env("PARLEY_API_KEY") != "" {
		headers += ` -H "X-Api-Key: $PARLEY_API_KEY"`
	}
	hub := quote(strings.TrimSuffix(cmp.Or(env("PARLEY_URL"), defaultURL), "/"))
	var b strings.Builder
	fmt.Fprintf(&b, "Listening on http://%s/ for notifications.\n", at)
	if c.Token == "" && c.Authorization == "" && len(c.Secret) == 0 {
		b.WriteString("Notifications are not verified; use --token, --authorization or --secret to verify them.\n")
	}
	fmt.Fprintf(&b, "A hub calls it if parley.yaml says \"push: {allow: [%q]}\", or after: parley serve --push-allow %s\n", at, at)
	fmt.Fprintf(&b, `Try:
  curl %s/v1/a2a/message:send %s \
    -d '{"message":{"messageId":"hello","role":"ROLE_USER","parts":[{"text":"hello"}]},
         "configuration":{"returnImmediately":true,"taskPushNotificationConfig":%s}}'
Or, for an existing task:
  curl %s/v1/a2a/tasks/TASK/pushNotificationConfigs %s \
    -d '%s'
`, hub, headers, config, hub, headers, config)
	return b.String()
}

// notification is the printer of notifications.
type notification struct {
	o      *OS
	format format
	count  int           // 0 means no limit
	enough chan struct{} // closed when nothing more will be printed

	mu  sync.Mutex // guards the fields below and the output
	n   int
	end bool
	err error // the error of printing
}

// errEnough answers notifications after the last one.
var errEnough = errors.New("the listener stops")

func (t *notification) handle(_ context.Context, n *push.Notification) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end {
		return errEnough
	}
	if t.err = t.print(n); t.err == nil && !n.Repeated {
		t.n++
	}
	if t.err != nil || t.n == t.count && t.count > 0 {
		t.end = true
		close(t.enough)
	}
	return t.err
}

func (t *notification) print(n *push.Notification) error {
	if t.format.data() {
		return t.format.received(t.o, n.Body)
	}
	what := string(n.Kind)
	if n.State != "" {
		what = stateName(n.State)
	}
	columns := []string{time.Now().Format("15:04:05.000"), string(n.TaskID), what, proofs(n), t.text(n)}
	for i, s := range columns {
		columns[i] = printable(strings.Join(strings.Fields(s), " "))
	}
	sep := "\t"
	if t.o.Terminal {
		sep = "  "
	}
	_, err := fmt.Fprintln(t.o.Stdout, strings.TrimRight(strings.Join(columns, sep), " \t"))
	return err
}

// proofs describes the verification of a notification.
func proofs(n *push.Notification) string {
	s := "not verified: nothing was asked for"
	if len(n.Proofs) > 0 {
		s = "verified by " + list(n.Proofs...)
	}
	if n.Repeated {
		s += " (again)"
	}
	return s
}

// text returns a notification as text for a person.
func (t *notification) text(n *push.Notification) string {
	event, err := n.Event()
	if err != nil {
		return "(protocol v0.3)"
	}
	w := &printer{terminal: t.o.Terminal}
	var m *a2a.Message
	switch e := event.(type) {
	case *a2a.Message:
		m = e
	case *a2a.Task:
		if m = e.Status.Message; m == nil {
			m = &a2a.Message{Parts: llm.Reply(e)}
		}
	case *a2a.TaskStatusUpdateEvent:
		m = e.Status.Message
	case *a2a.TaskArtifactUpdateEvent:
		if e.Artifact == nil {
			return ""
		}
		m = &a2a.Message{Parts: e.Artifact.Parts}
	}
	s, err := w.message(m)
	if err != nil {
		return ""
	}
	return clip.Runes(s, longestText)
}

// longestText is the maximum length of a printed text, in characters.
const longestText = 500

func (t *notification) refused(r *http.Request, err error) {
	if errors.Is(err, errEnough) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.o.Stderr, "%s  refused %s from %s: %s\n",
		time.Now().Format("15:04:05.000"), cmp.Or(r.Method, "GET"), r.RemoteAddr, printable(err.Error()))
}
