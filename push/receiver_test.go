package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

const (
	statusBody   = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}`
	artifactBody = `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"hi"}]}}}`
	taskBody     = `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
	messageBody  = `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`
)

// notify returns a request with a body and headers, "name: value".
func notify(body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// deliver passes a request to a receiver and returns the response.
func deliver(rc *Receiver, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	rc.ServeHTTP(w, r)
	return w
}

// collect returns a receiver and the list of notifications that it has handled.
func collect() (*Receiver, *[]*Notification) {
	var got []*Notification
	rc := &Receiver{Handle: func(_ context.Context, n *Notification) error {
		got = append(got, n)
		return nil
	}}
	return rc, &got
}

func TestReceiverReads(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0)
	for name, tt := range map[string]struct {
		body string
		want Notification
	}{
		"status":   {statusBody, Notification{Kind: KindStatus, TaskID: "t1", ContextID: "c1", State: a2a.TaskStateWorking}},
		"artifact": {artifactBody, Notification{Kind: KindArtifact, TaskID: "t1", ContextID: "c1"}},
		"task":     {taskBody, Notification{Kind: KindTask, TaskID: "t1", ContextID: "c1", State: a2a.TaskStateCompleted}},
		"message":  {messageBody, Notification{Kind: KindMessage}},
		"old task": {
			`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"input-required"}}`,
			Notification{Kind: KindTask, TaskID: "t1", ContextID: "c1", State: a2a.TaskStateInputRequired, Old: true},
		},
		"old status": {
			`{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed"},"final":true}`,
			Notification{Kind: KindStatus, TaskID: "t1", ContextID: "c1", State: a2a.TaskStateCompleted, Old: true},
		},
		"null beside": {
			`{"task":null,"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_FAILED"}}}`,
			Notification{Kind: KindStatus, TaskID: "t1", State: a2a.TaskStateFailed},
		},
	} {
		rc, got := collect()
		w := deliver(rc, notify(tt.body, "webhook-id: n1", "webhook-timestamp: 1700000000"))
		if w.Code != http.StatusNoContent || len(*got) != 1 {
			t.Errorf("%s: status %d (%s)", name, w.Code, w.Body)
			continue
		}
		tt.want.ID, tt.want.At, tt.want.Body = "n1", at, []byte(tt.body)
		if diff := cmp.Diff(&tt.want, (*got)[0]); diff != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", name, diff)
		}
	}
}

func TestNotificationEvent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]a2a.Event{
		statusBody: &a2a.TaskStatusUpdateEvent{}, artifactBody: &a2a.TaskArtifactUpdateEvent{},
		taskBody: &a2a.Task{}, messageBody: &a2a.Message{},
	} {
		n, err := decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.Event()
		if err != nil || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
			t.Errorf("Event() of %s = %T, %v, want %T", body, got, err, want)
		}
	}
	n, err := decode([]byte(`{"kind":"task","id":"t1","status":{"state":"working"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := n.Event(); err == nil {
		t.Errorf("Event() of a payload of v0.3 = %v, want an error", ev)
	}
}

func TestReceiverRefuses(t *testing.T) {
	t.Parallel()
	big := strings.Repeat(" ", defaultBody) + statusBody
	for name, tt := range map[string]struct {
		request *http.Request
		want    int
	}{
		"get":              {httptest.NewRequest(http.MethodGet, "/", nil), http.StatusMethodNotAllowed},
		"no content type":  {httptest.NewRequest(http.MethodPost, "/", strings.NewReader(statusBody)), http.StatusUnsupportedMediaType},
		"form":             {change(notify(statusBody), "Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
		"bad content type": {change(notify(statusBody), "Content-Type", "application/json; ="), http.StatusUnsupportedMediaType},
		"compressed":       {notify(statusBody, "Content-Encoding: gzip"), http.StatusUnsupportedMediaType},
		"large":            {notify(big), http.StatusRequestEntityTooLarge},
		"no body":          {notify(""), http.StatusBadRequest},
		"broken":           {notify(statusBody[:40]), http.StatusBadRequest},
		"trailing":         {notify(statusBody + "{}"), http.StatusBadRequest},
		"array":            {notify("[" + statusBody + "]"), http.StatusBadRequest},
		"null":             {notify("null"), http.StatusBadRequest},
		"empty":            {notify("{}"), http.StatusBadRequest},
		"two arms":         {notify(taskBody[:len(taskBody)-1] + "," + statusBody[1:]), http.StatusBadRequest},
		"strange kind":     {notify(`{"kind":"surprise","id":"t1"}`), http.StatusBadRequest},
		"no task id":       {notify(`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`), http.StatusBadRequest},
		"no state":         {notify(`{"task":{"id":"t1"}}`), http.StatusBadRequest},
		"number for a id":  {notify(`{"task":{"id":7,"status":{"state":"TASK_STATE_WORKING"}}}`), http.StatusBadRequest},
		"deep":             {notify(`{"task":` + strings.Repeat("[", 100_000)), http.StatusBadRequest},
		"long id":          {notify(statusBody, "webhook-id: "+strings.Repeat("x", longestID+1)), http.StatusBadRequest},
		"body that breaks": {httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), broken{})), http.StatusBadRequest},
	} {
		if name == "body that breaks" {
			change(tt.request, "Content-Type", "application/json")
		}
		rc, got := collect()
		var refused error
		rc.Refused = func(_ *http.Request, err error) { refused = err }
		if w := deliver(rc, tt.request); w.Code != tt.want || len(*got) != 0 || refused == nil {
			t.Errorf("%s: status %d (%s), Refused got %v, want %d", name, w.Code, w.Body, refused, tt.want)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func change(r *http.Request, name, value string) *http.Request {
	r.Header.Set(name, value)
	return r
}

func TestReceiverAcceptsConfiguredBodySize(t *testing.T) {
	t.Parallel()
	for most, want := range map[int64]int{
		0: http.StatusRequestEntityTooLarge, -1: http.StatusRequestEntityTooLarge,
		2 << 20: http.StatusNoContent, 1 << 40: http.StatusNoContent,
	} {
		rc, _ := collect()
		rc.MaxBody = most
		if w := deliver(rc, notify(strings.Repeat(" ", defaultBody)+statusBody)); w.Code != want {
			t.Errorf("MaxBody %d: status %d, want %d", most, w.Code, want)
		}
	}
	rc, _ := collect()
	rc.MaxBody = 1 << 40
	if w := deliver(rc, notify(strings.Repeat(" ", largestBody)+statusBody)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body above the largest: status %d", w.Code)
	}
}

func TestReceiverAuthenticatesTheSender(t *testing.T) {
	t.Parallel()
	const token, bearer = "A2A-Notification-Token: ", "Authorization: "
	for name, tt := range map[string]struct {
		headers []string
		proofs  []string // nil means refused
	}{
		"all":                {[]string{token + "tok", bearer + "Bearer abc"}, []string{"token", "authorization"}},
		"old name":           {[]string{"X-" + token + "tok", bearer + "Bearer abc"}, []string{"token", "authorization"}},
		"both names":         {[]string{token + "tok", "X-" + token + "tok", bearer + "bearer  abc"}, []string{"token", "authorization"}},
		"names disagree":     {[]string{token + "tok", "X-" + token + "other", bearer + "Bearer abc"}, nil},
		"no token":           {[]string{bearer + "Bearer abc"}, nil},
		"empty token":        {[]string{token, bearer + "Bearer abc"}, nil},
		"longer token":       {[]string{token + "tok2", bearer + "Bearer abc"}, nil},
		"token in query":     {[]string{"X-Token: tok", bearer + "Bearer abc"}, nil},
		"no authorization":   {[]string{token + "tok"}, nil},
		"two authorizations": {[]string{token + "tok", bearer + "Bearer abc", bearer + "Bearer abc"}, nil},
		"other scheme":       {[]string{token + "tok", bearer + "Basic abc"}, nil},
		"other case":         {[]string{token + "tok", bearer + "Bearer ABC"}, nil},
		"no scheme":          {[]string{token + "tok", bearer + "abc"}, nil},
	} {
		rc, got := collect()
		rc.Token, rc.Authorization = "tok", "Bearer abc"
		w := deliver(rc, notify(statusBody, tt.headers...))
		if tt.proofs == nil {
			if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" || len(*got) != 0 {
				t.Errorf("%s: status %d with %v, want it to be refused", name, w.Code, w.Header())
			}
			if strings.Contains(w.Body.String(), "abc") || strings.Contains(w.Body.String(), "tok ") {
				t.Errorf("%s: the answer %q contains a secret", name, w.Body)
			}
			continue
		}
		if w.Code != http.StatusNoContent || len(*got) != 1 {
			t.Errorf("%s: status %d (%s), want it to be taken", name, w.Code, w.Body)
		} else if diff := cmp.Diff(tt.proofs, (*got)[0].Proofs); diff != "" {
			t.Errorf("%s: proofs (-want +got):\n%s", name, diff)
		}
	}
}

// TestReceiverChecksBeforeItReads sends a body that must never be read.
func TestReceiverChecksBeforeItReads(t *testing.T) {
	t.Parallel()
	rc, _ := collect()
	rc.Token = "tok"
	r := httptest.NewRequest(http.MethodPost, "/", unread{t})
	if w := deliver(rc, change(r, "Content-Type", "application/json")); w.Code != http.StatusUnauthorized {
		t.Errorf("status %d, want 401", w.Code)
	}
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a stranger was read")
	return 0, io.EOF
}

func TestReceiverChecksSignatures(t *testing.T) {
	t.Parallel()
	key := mustSecret(t, exampleSecret)
	rc, got := collect()
	rc.Secrets = [][]byte{mustSecret(t, otherSecret(32)), key}
	now := time.Now()
	sign := func(at time.Time, body string) []string {
		return []string{
			"webhook-id: n1", "webhook-timestamp: " + strconv.FormatInt(at.Unix(), 10),
			"webhook-signature: " + Sign([][]byte{key}, "n1", at, []byte(body)),
		}
	}
	if w := deliver(rc, notify(statusBody, sign(now, statusBody)...)); w.Code != http.StatusNoContent {
		t.Fatalf("status %d (%s), want the signature to be taken", w.Code, w.Body)
	}
	if diff := cmp.Diff([]string{"signature"}, (*got)[0].Proofs); diff != "" {
		t.Errorf("proofs (-want +got):\n%s", diff)
	}
	for name, r := range map[string]*http.Request{
		"unsigned":     notify(statusBody),
		"another body": notify(artifactBody, sign(now, statusBody)...),
		"an hour old":  notify(statusBody, sign(now.Add(-time.Hour), statusBody)...),
	} {
		if w := deliver(rc, r); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: status %d, want 401", name, w.Code)
		}
	}
}

func TestReceiverAnswersForItsHandler(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		nil: http.StatusNoContent, errors.New("secret reason"): http.StatusInternalServerError,
		fmt.Errorf("task 7: %w", ErrGone): http.StatusGone,
	} {
		var refused error
		rc := &Receiver{
			Handle:  func(context.Context, *Notification) error { return err },
			Refused: func(_ *http.Request, err error) { refused = err },
		}
		w := deliver(rc, notify(statusBody))
		if w.Code != want || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("handler says %v: status %d (%s), want %d", err, w.Code, w.Body, want)
		}
		if !errors.Is(refused, err) {
			t.Errorf("handler returns %v: Refused got %v", err, refused)
		}
	}
}

func TestReceiverMarksRepeatedNotifications(t *testing.T) {
	t.Parallel()
	rc, got := collect()
	rc.Remember = 2
	fail := true
	handle := rc.Handle
	rc.Handle = func(ctx context.Context, n *Notification) error {
		if err := handle(ctx, n); fail {
			return errors.New("not now")
		} else {
			return err
		}
	}
	deliver(rc, notify(statusBody, "webhook-id: a")) // fails: the id is not remembered
	fail = false
	var want []bool
	for _, step := range []struct {
		id       string
		repeated bool
	}{{"a", false}, {"a", true}, {"", false}, {"", false}, {"b", false}, {"a", true}, {"c", false}, {"a", false}, {"c", true}, {"b", false}} {
		r := notify(statusBody)
		if step.id != "" {
			r.Header.Set("webhook-id", step.id)
		}
		deliver(rc, r)
		want = append(want, step.repeated)
	}
	var repeated []bool
	for _, n := range (*got)[1:] {
		repeated = append(repeated, n.Repeated)
	}
	if diff := cmp.Diff(want, repeated); diff != "" {
		t.Errorf("Repeated (-want +got):\n%s", diff)
	}
	if len(rc.seen) > 2 || len(rc.ring) > 2 {
		t.Errorf("%d ids are remembered, want at most 2", len(rc.seen))
	}
}

func TestReceiverWithoutMemory(t *testing.T) {
	t.Parallel()
	rc, got := collect()
	rc.Remember = -1
	for range 2 {
		deliver(rc, notify(statusBody, "webhook-id: a"))
	}
	if len(*got) != 2 || (*got)[1].Repeated || len(rc.seen) != 0 {
		t.Errorf("%d handled, %d remembered, want none to be known", len(*got), len(rc.seen))
	}
}

func TestConcurrentNotifications(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	rc := &Receiver{Handle: func(context.Context, *Notification) error { return nil }, Remember: 10}
	for i := range 100 {
		wg.Go(func() { deliver(rc, notify(statusBody, "webhook-id: "+strconv.Itoa(i%20))) })
	}
	wg.Wait()
	if len(rc.seen) != 10 || len(rc.ring) != 10 {
		t.Errorf("%d ids in a ring of %d, want 10", len(rc.seen), len(rc.ring))
	}
}

func FuzzReceiver(f *testing.F) {
	for _, body := range []string{statusBody, artifactBody, taskBody, messageBody, `{"kind":"task","id":"t","status":{"state":"working"}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := decode(body)
		if err != nil {
			return
		}
		if n.Kind == "" || n.TaskID == "" && n.Kind != KindMessage {
			t.Errorf("decode(%q) = %+v, want a kind and a task", body, n)
		}
	})
}
