package defects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"

	"github.com/parley-a2a/parley/client"
)

// In other servers one reader that stops reading blocks the broker, and the next subscriber of
// its task holds a lock of the whole process meanwhile. Parley: a stalled reader delays no
// other caller, on any binding.
func TestDefect01StalledReaderFreezesNobody(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		const chunks = "320" // 5 MB, more than the buffers of a connection hold
		stalled := h.dial(4096)
		stalled.post("ann", "/v1/a2a/flood/message:stream", sendParams(chunks))
		ctx, cancel := h.as("ann")
		defer cancel()
		if _, err := h.grpc.SendStreamingMessage(ctx, pbTo("flood", chunks)); err != nil {
			t.Fatal(err)
		}
		resp := h.stream(t.Context(), call{"ann", "POST", "/flood/message:stream", sendParams(chunks), nil})
		r := h.read(resp.Body)
		id := r.event().frame(t).Task.ID
		// The second step of the freeze: subscribing to a task with a stalled reader.
		for _, w := range h.list("ann", "pageSize=100").Tasks {
			if a := h.rest("ann", "GET", "/tasks/"+w.ID+"?historyLength=0", ""); a.code != 200 {
				t.Errorf("get %s: %d", w.ID, a.code)
			}
			sub, err := h.open(t.Context(), call{"ann", "POST", "/v1/a2a/tasks/" + w.ID + ":subscribe", "", nil})
			if err != nil {
				t.Fatalf("subscribe: %v", err)
			}
			sub.Body.Close()
		}
		gapless(t, 1, r.rest())
		h.alive("bob")
		if s := h.get("ann", id).Status.State; s != "TASK_STATE_COMPLETED" {
			t.Errorf("the task is %s", s)
		}
	})
}

// In other servers subscribing ignores the "not found" of a foreign task and streams it.
// Parley: every operation gives the same answer for a foreign task as for one that does not
// exist.
func TestDefect02SubscribeChecksOwner(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		held := h.to("ann", "slowcancel", paramsNow("hi")).ID
		done := h.to("ann", "echo", sendParams("hi")).ID
		asked := h.to("ann", "ask", sendParams("hi")).ID
		for _, id := range []string{held, done, asked, "no-such-task"} {
			h.foreign(t, id)
		}
		if s := h.get("ann", held).Status.State; s != "TASK_STATE_WORKING" && s != "TASK_STATE_SUBMITTED" {
			t.Errorf("after foreign calls the task is %s, want it open", s)
		}
		canceled := make(chan answer, 1)
		go func() {
			a, _ := h.try(t.Context(), call{"ann", "POST", "/v1/a2a/tasks/" + held + ":cancel", "", nil})
			canceled <- a
		}()
		for open := true; open; { // also while a cancellation is in progress
			h.foreign(t, held)
			select {
			case a := <-canceled:
				if w := h.readTask(a.body); w.Status.State != "TASK_STATE_CANCELED" {
					t.Errorf("the owner's cancellation: %d %s", a.code, a.body)
				}
				open = false
			default:
			}
		}
		if n := h.total("bob"); n != 0 {
			t.Errorf("bob has %d tasks, want none", n)
		}
	})
}

// foreign tries all operations on ann's task as bob, over every binding.
func (h *hub) foreign(t *testing.T, id string) {
	t.Helper()
	for _, c := range []call{
		{"bob", "GET", "/v1/a2a/tasks/" + id, "", nil},
		{"bob", "GET", "/v1/a2a/tasks/" + id + ":subscribe", "", nil},
		{"bob", "POST", "/v1/a2a/tasks/" + id + ":subscribe", "", []string{"Last-Event-ID: 1"}},
		{"bob", "POST", "/v1/a2a/tasks/" + id + ":cancel", "", nil},
	} {
		wantFault(t, restNotFound, faultOf(t, h.do(c)))
	}
	for method, params := range map[string]string{
		"GetTask": `{"id":"` + id + `"}`, "CancelTask": `{"id":"` + id + `"}`, "SubscribeToTask": `{"id":"` + id + `"}`,
		"SendMessage":          sendParams("hi", `"taskId":"`+id+`"`),
		"SendStreamingMessage": sendParams("hi", `"taskId":"`+id+`"`),
	} {
		wantFault(t, rpcNotFound, faultOf(t, h.rpc("bob", method, params)))
	}
	ctx, cancel := h.as("bob", "last-event-id", "1")
	defer cancel()
	_, err := h.grpc.GetTask(ctx, &pb.GetTaskRequest{Id: id})
	wantFault(t, grpcNotFound, grpcFault(t, err))
	_, err = h.grpc.CancelTask(ctx, &pb.CancelTaskRequest{Id: id})
	wantFault(t, grpcNotFound, grpcFault(t, err))
	s, err := h.grpc.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: id})
	if err == nil {
		_, err = recvAll(s)
	}
	wantFault(t, grpcNotFound, grpcFault(t, err))
}

// Other servers accept any A2A-Version. Parley refuses versions that it does not support,
// before any effect.
func TestDefect03VersionIsEnforced(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		for _, v := range []string{"9.9", "0.2", "2", "1", "1.00", "1.0.x", "one", "1.0,9.9"} {
			header := "A2A-Version: " + v
			wantFault(t, fault{200, -32009, "VERSION_NOT_SUPPORTED", ""}, faultOf(t, h.rpc("ann", "SendMessage", sendParams("hi"), header)))
			wantFault(t, fault{400, 400, "VERSION_NOT_SUPPORTED", ""},
				faultOf(t, h.rest("ann", "POST", "/message:send", sendParams("hi"), header)))
			wantFault(t, fault{400, 400, "VERSION_NOT_SUPPORTED", ""},
				faultOf(t, h.rest("ann", "POST", "/message:send?A2A-Version="+v, sendParams("hi"))))
			ctx, cancel := h.as("ann", "a2a-version", v)
			_, err := h.grpc.SendMessage(ctx, pbSay("hi"))
			cancel()
			wantFault(t, fault{0, int(codes.FailedPrecondition), "VERSION_NOT_SUPPORTED", ""}, grpcFault(t, err))
		}
		wantFault(t, fault{200, -32009, "VERSION_NOT_SUPPORTED", ""}, faultOf(t, h.rpc("ann", "SendMessage", sendParams("hi"), "A2A-Version:")))
		if n := h.store.appends.Load(); n != 0 {
			t.Errorf("%d changes were stored, want none", n)
		}
		if a := h.rpc("ann", "SendMessage", sendParams("hi"), "A2A-Version: 1.0.7"); !strings.Contains(a.body, "COMPLETED") {
			t.Errorf("a patch of 1.0: %d %s, want it served", a.code, a.body)
		}
	})
}

// In other servers requests and fetched cards may have any size. Parley limits both, also
// without an announced length.
func TestDefect04SizesAreBounded(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		const limit = 10 << 20
		big := sendParams(strings.Repeat("x", limit))
		wantFault(t, fault{413, -32600, "REQUEST_TOO_LARGE", ""}, faultOf(t, h.rpc("ann", "SendMessage", big)))
		for _, path := range []string{"/message:send", "/message:stream"} {
			wantFault(t, fault{413, 413, "REQUEST_TOO_LARGE", ""}, faultOf(t, h.rest("ann", "POST", path, big)))
		}
		c := h.dial(0)
		c.send("POST /v1/a2a/message:send HTTP/1.1\r\nHost: hub\r\nX-User: ann\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n")
		go endless(c) // ends when the hub closes the connection, at the latest with the test's
		wantFault(t, fault{413, 413, "REQUEST_TOO_LARGE", ""}, faultOf(t, c.answer()))
		ctx, cancel := h.as("ann")
		defer cancel()
		_, err := h.grpc.SendMessage(ctx, pbSay(strings.Repeat("x", limit)))
		wantFault(t, fault{0, int(codes.ResourceExhausted), "", ""}, grpcFault(t, err))
		if n := h.store.appends.Load(); n != 0 {
			t.Errorf("%d changes were stored, want none", n)
		}
		h.alive("ann")
	})
}

func endless(w io.Writer) {
	part := fmt.Appendf(nil, "%x\r\n%s\r\n", 64<<10, strings.Repeat(" ", 64<<10))
	for {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// The other half of defect 4: a hostile server must not fill the memory of a caller.
func TestDefect04CardsAreBounded(t *testing.T) {
	t.Parallel()
	l := listen(t)
	s := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"`)
		for {
			if _, err := io.WriteString(w, padding); err != nil {
				return
			}
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	defer func() {
		s.Close()
		<-done
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, raw, err := client.Fetch(ctx, "http://"+l.Addr().String(), client.Options{}); err == nil || ctx.Err() != nil {
		t.Errorf("Fetch = %d bytes, %v; want it to give up on the card", len(raw), err)
	}
}

// In other servers request ids lose digits, trailing data is ignored, batches are accepted and
// GET returns 200. Parley returns ids byte for byte and refuses the rest as the specification
// requires.
func TestDefect05RequestIDsSurvive(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		for _, id := range []string{
			"12345678901234567890", "-9007199254740993", "0", "null", `"a\u0062\/\n"`, `""`, `"日本"`,
		} {
			a := h.do(call{"ann", "POST", "/a2a", `{"id": ` + id + ` ,"method":"ListTasks","jsonrpc":"2.0"}`, nil})
			if want := `{"jsonrpc":"2.0","id":` + id + `,"result":`; !strings.HasPrefix(a.body, want) {
				t.Errorf("answer %.80s, want it to begin with %s", a.body, want)
			}
			a = h.do(call{"ann", "POST", "/a2a", `{"id":` + id + `,"method":"Nope","jsonrpc":"2.0"}`, nil})
			if want := `{"jsonrpc":"2.0","id":` + id + `,"error":`; !strings.HasPrefix(a.body, want) {
				t.Errorf("answer %.80s, want it to begin with %s", a.body, want)
			}
		}
		one := envelope("SendMessage", sendParams("hi"))
		for body, want := range map[string]fault{
			one + "x":             {200, -32700, "PARSE_ERROR", ""},
			one + one:             {200, -32700, "PARSE_ERROR", ""},
			"[" + one + "]":       {200, -32600, "INVALID_REQUEST", ""},
			"[]":                  {200, -32600, "INVALID_REQUEST", ""},
			"[" + one + "," + one: {200, -32700, "PARSE_ERROR", ""},
		} {
			wantFault(t, want, faultOf(t, h.do(call{"ann", "POST", "/a2a", body, nil})))
		}
		get := h.do(call{"ann", "GET", "/a2a", "", nil})
		wantFault(t, fault{405, -32601, "METHOD_NOT_FOUND", ""}, faultOf(t, get))
		if allow := get.header.Get("Allow"); allow != "POST" {
			t.Errorf("Allow = %q, want POST", allow)
		}
		if n := h.store.appends.Load(); n != 0 {
			t.Errorf("%d changes were stored, want none", n)
		}
	})
}

// In other servers a stream begins with 200 before its parameters are read, so that every error
// is hidden in an event. Parley answers with an ordinary error until the first event has been
// sent.
func TestDefect06ErrorsComeBeforeTheStream(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		done := h.to("ann", "echo", sendParams("hi")).ID
		plain := func(a answer, want fault) {
			t.Helper()
			wantFault(t, want, faultOf(t, a))
			if ct := a.header.Get("Content-Type"); ct != "application/json" {
				t.Errorf("Content-Type = %q, want application/json", ct)
			}
		}
		invalid := `{"message":{"role":"ROLE_USER","parts":[{"text":"hi"}]}}`
		plain(h.rest("ann", "POST", "/message:stream", invalid), fault{400, 400, "INVALID_PARAMS", "message.messageId"})
		plain(h.rest("ann", "POST", "/message:stream", "{"), fault{400, 400, "PARSE_ERROR", ""})
		plain(h.rest("ann", "POST", "/tasks/nope:subscribe", ""), restNotFound)
		plain(h.rest("ann", "POST", "/tasks/"+done+":subscribe", ""), fault{400, 400, "UNSUPPORTED_OPERATION", ""})
		plain(h.rpc("ann", "SendStreamingMessage", invalid), fault{200, -32602, "INVALID_PARAMS", "message.messageId"})
		plain(h.rpc("ann", "SubscribeToTask", `{}`), fault{200, -32602, "INVALID_PARAMS", "id"})
		plain(h.rpc("ann", "SubscribeToTask", `{"id":"`+done+`"}`), fault{200, -32004, "UNSUPPORTED_OPERATION", ""})
		plain(h.rest("", "POST", "/message:stream", sendParams("hi")), fault{401, 401, "UNAUTHENTICATED", ""})
		plain(h.rest("ann", "POST", "/torn/message:stream", sendParams("hi")), fault{400, 400, "UNSUPPORTED_OPERATION", ""})
	})
}

// In other servers event ids are random and Last-Event-ID is ignored. Parley's event ids are
// versions. A reader that reconnects gets the events that it has not received, also after the
// end.
func TestDefect07StreamsResume(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		resp := h.stream(t.Context(), call{"ann", "POST", "/flood/message:stream", sendParams("40"), nil})
		r := h.read(resp.Body)
		first := r.event()
		id := first.frame(t).Task.ID
		all := append([]event{first}, r.rest()...)
		gapless(t, 0, all)
		if len(all) != 42 {
			t.Fatalf("%d events, want 42: the task, 40 chunks and the end", len(all))
		}
		for _, from := range []int{1, 17, 41} {
			last := fmt.Sprintf("Last-Event-ID: %d", from)
			got := h.read(h.stream(t.Context(), call{"ann", "POST", "/tasks/" + id + ":subscribe", "", []string{last}}).Body).rest()
			if len(got) != len(all)-from || got[0] != all[from] || got[len(got)-1] != all[len(all)-1] {
				t.Errorf("after %d: %d events, want the last %d again", from, len(got), len(all)-from)
			}
			ctx, cancel := h.as("ann", "last-event-id", fmt.Sprint(from))
			s, err := h.grpc.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: id})
			if err != nil {
				t.Fatal(err)
			}
			if m, err := recvAll(s); err != nil || len(m) != len(all)-from {
				t.Errorf("gRPC after %d: %d events, %v; want %d", from, len(m), err, len(all)-from)
			}
			cancel()
		}
		if a := h.rest("ann", "GET", "/tasks/"+id+":subscribe", "", "Last-Event-ID: 42"); a.code != 204 {
			t.Errorf("after the last event: %d %s, want 204", a.code, a.body)
		}
		for _, odd := range []string{"43", "0", "-1", "1e1", "x", "99999999999999999999", "1, 2"} {
			wantFault(t, fault{400, 400, "UNSUPPORTED_OPERATION", ""},
				faultOf(t, h.rest("ann", "POST", "/tasks/"+id+":subscribe", "", "Last-Event-ID: "+odd)))
		}
	})
}

// In other servers the texts of internal errors reach callers, and the code of an error that
// wraps two depends on the order of a map. Parley sends a reference, writes the text to the
// log, and always chooses the same code.
func TestDefect08InternalTextStaysInside(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		for _, agent := range []string{"leaky", "panicky"} {
			w := h.to("ann", agent, sendParams("hi"))
			discreet(t, fmt.Sprintf("%+v", w))
			if w.Status.State != "TASK_STATE_FAILED" || !strings.Contains(w.statusText(), "reference") {
				t.Errorf("%s: %s %q, want it failed with a reference", agent, w.Status.State, w.statusText())
			}
		}
		for range 20 {
			wantFault(t, fault{400, 400, "UNSUPPORTED_OPERATION", ""}, faultOf(t, h.rest("ann", "POST", "/torn/message:send", sendParams("hi"))))
		}
		broken := fmt.Errorf("%s", leak)
		h.store.broken.Store(&broken)
		wantFault(t, fault{500, 500, "INTERNAL_ERROR", ""}, faultOf(t, h.rest("ann", "GET", "/tasks/x", "")))
		wantFault(t, fault{500, 500, "INTERNAL_ERROR", ""}, faultOf(t, h.rest("ann", "POST", "/message:send", sendParams("hi"))))
		wantFault(t, fault{200, -32603, "INTERNAL_ERROR", ""}, faultOf(t, h.rpc("ann", "ListTasks", "{}")))
		ctx, cancel := h.as("ann")
		defer cancel()
		_, err := h.grpc.ListTasks(ctx, &pb.ListTasksRequest{})
		wantFault(t, fault{0, int(codes.Internal), "INTERNAL_ERROR", ""}, grpcFault(t, err))
		h.store.broken.Store(nil)
		h.alive("ann")
		if n := strings.Count(h.logs.String(), "hunter2"); n < 6 {
			t.Errorf("the log has the texts %d times, want all six", n)
		}
	})
}

// In other servers writes have no deadline and a server cannot drain. Parley closes connections
// whose client does not read, and shuts down in time despite stalled readers.
func TestDefect09StalledReadersDoNotStopTheEnd(t *testing.T) {
	t.Parallel()
	h := start(t, options{store: newStore(t, "sqlite")})
	id := h.to("ann", "flood", sendParams("320")).ID
	held := h.to("ann", "hold", paramsNow("hi")).ID
	for range 4 {
		h.dial(4096).begin("ann", "/v1/a2a/flood/message:stream", sendParams("320"))
		h.dial(4096).begin("ann", "/a2a", envelope("GetTask", `{"id":"`+id+`"}`))
	}
	sub := h.stream(t.Context(), call{"ann", "GET", "/tasks/" + held + ":subscribe", "", nil})
	h.alive("bob")
	h.stop() // no write of a stalled reader ends by itself
	if !strings.Contains(h.logs.String(), "connections were cut") {
		t.Error("no connection was cut, so nobody stalled")
	}
	r := h.read(sub.Body)
	first := r.event()
	rest := append([]event{first}, r.rest()...)
	gapless(t, first.id-1, rest)
	for _, state := range []string{"COMPLETED", "FAILED", "CANCELED"} {
		if last := rest[len(rest)-1]; strings.Contains(last.data, state) {
			t.Errorf("the subscriber saw the task end: %v", last)
		}
	}
}

// In other servers an agent that panics in Cancel exposes the panic to its callers. Parley: the
// task is canceled all the same for all its readers, and no answer mentions the panic.
func TestDefect10PanicInCancel(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		sub := h.stream(t.Context(), call{"ann", "POST", "/bomb/message:stream", sendParams("hi"), nil})
		r := h.read(sub.Body)
		id := r.event().frame(t).Task.ID
		r.event() // working
		a := h.rest("ann", "POST", "/tasks/"+id+":cancel", "")
		discreet(t, a.body)
		if w := h.readTask(a.body); a.code != 200 || w.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("cancel: %d %s", a.code, a.body)
		}
		rest := r.rest()
		if len(rest) != 1 || rest[0].frame(t).StatusUpdate.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("the stream ends with %v, want the cancellation", rest)
		}
		wantFault(t, fault{409, 409, "TASK_NOT_CANCELABLE", ""}, faultOf(t, h.rest("ann", "POST", "/tasks/"+id+":cancel", "")))
		if !strings.Contains(h.logs.String(), "panicked in cancel") {
			t.Error("the log does not say that the agent panicked")
		}
		h.alive("ann")
	})
}

// In other servers a caller cannot subscribe to a task that waits for input, and one that has
// ended is "not found". Parley: the first returns the task and the following events, the second
// returns an error that states the end.
func TestDefect11LateSubscribers(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		id := h.to("ann", "ask", sendParams("hi")).ID
		r := h.read(h.stream(t.Context(), call{"ann", "GET", "/tasks/" + id + ":subscribe", "", nil}).Body)
		if s := r.event().frame(t).Task.Status.State; s != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("the first event is a task in %s", s)
		}
		ctx, cancel := h.as("ann")
		defer cancel()
		s, err := h.grpc.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := s.Recv(); err != nil || m.GetTask().GetStatus().GetState() != pb.TaskState_TASK_STATE_INPUT_REQUIRED {
			t.Errorf("gRPC: %v, %v", m, err)
		}
		h.to("ann", "ask", sendParams("Berlin", `"taskId":"`+id+`"`))
		rest := r.rest()
		if n := len(rest); n != 2 || rest[n-1].frame(t).StatusUpdate.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("after the answer came %v, want an artifact and the end", rest)
		}
		if m, err := recvAll(s); err != nil || len(m) != 2 {
			t.Errorf("gRPC: after the answer came %v, %v; want an artifact and the end", m, err)
		}
		wantFault(t, fault{400, 400, "UNSUPPORTED_OPERATION", ""}, faultOf(t, h.rest("ann", "POST", "/tasks/"+id+":subscribe", "")))
		s, err = h.grpc.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: id})
		if err == nil {
			_, err = recvAll(s)
		}
		wantFault(t, fault{0, int(codes.FailedPrecondition), "UNSUPPORTED_OPERATION", ""}, grpcFault(t, err))
	})
}

// In other servers every event copies the whole task five times, and values unknown to the copy
// get lost. Parley stores an event once, however long its task is, and keeps the metadata of
// agents.
func TestDefect12EventsAreStoredOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		w := h.to("ann", "rich", sendParams("hi"))
		want := `{"gauge":{"name":"a","level":0,"big":9007199254740993,"parts":[{"name":"b","level":null,"big":0}]},"none":null,"zero":0}`
		if got := string(w.Artifacts[0].Metadata); got != want {
			t.Errorf("metadata:\n got %s\nwant %s", got, want)
		}
		const n = 150
		before := h.store.written.Load()
		h.to("ann", "flood", sendParams(fmt.Sprint(n)))
		written := h.store.written.Load() - before
		if most := int64(n * (chunkSize + 200)); written > most {
			t.Errorf("%d chunks of %d bytes were stored in %d bytes, want at most %d", n, chunkSize, written, most)
		}
	})
}

// In other servers a push notification that cannot be sent fails the task or vanishes, and the
// webhook delays the stream. A hub without push refuses such a request at once, and creates no
// task for a caller that relies on notifications.
func TestDefect13PushIsRefusedOpenly(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		config := `{"url":"http://169.254.169.254/"}`
		with := strings.TrimSuffix(sendParams("hi"), "}") + `,"configuration":{"taskPushNotificationConfig":` + config + `}}`
		rest, rpc := fault{400, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED", ""}, fault{200, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", ""}
		for _, path := range []string{"/message:send", "/message:stream"} {
			wantFault(t, rest, faultOf(t, h.rest("ann", "POST", path, with)))
		}
		wantFault(t, rpc, faultOf(t, h.rpc("ann", "SendMessage", with)))
		for _, c := range []call{
			{"ann", "POST", "/tasks/x/pushNotificationConfigs", config, nil},
			{"ann", "GET", "/tasks/x/pushNotificationConfigs", "", nil},
			{"ann", "GET", "/tasks/x/pushNotificationConfigs/y", "", nil},
			{"ann", "DELETE", "/tasks/x/pushNotificationConfigs/y", "", nil},
		} {
			wantFault(t, rest, faultOf(t, h.rest(c.user, c.method, c.path, c.body)))
		}
		for _, method := range []string{"Create", "Get", "List", "Delete"} {
			if method == "List" {
				method += "TaskPushNotificationConfigs"
			} else {
				method += "TaskPushNotificationConfig"
			}
			wantFault(t, rpc, faultOf(t, h.rpc("ann", method, `{"taskId":"x","id":"y","url":"http://a/"}`)))
		}
		ctx, cancel := h.as("ann")
		defer cancel()
		_, err := h.grpc.CreateTaskPushNotificationConfig(ctx, &pb.TaskPushNotificationConfig{TaskId: "x", Url: "http://a/"})
		wantFault(t, fault{0, int(codes.FailedPrecondition), "PUSH_NOTIFICATION_NOT_SUPPORTED", ""}, grpcFault(t, err))
		if n := h.store.appends.Load(); n != 0 {
			t.Errorf("%d changes were stored, want none", n)
		}
	})
}

// In other servers the first event must be a task or a message, and a message after a task is
// an error. Parley accepts the events of agents in any order.
func TestDefect14AnyFirstEvent(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		w := h.to("ann", "artifact", sendParams("hi"))
		if w.Status.State != "TASK_STATE_COMPLETED" || len(w.Artifacts) != 1 || w.Artifacts[0].Parts[0].Text != "at once" {
			t.Errorf("artifact first: %+v", w)
		}
		w = h.to("ann", "late", sendParams("hi"))
		if w.Status.State != "TASK_STATE_COMPLETED" || w.statusText() != "good day" {
			t.Errorf("message after a status: %+v", w)
		}
		n := h.total("ann")
		a := h.rest("ann", "POST", "/greet/message:send", sendParams("hi"), "A2A-Version: 1.0")
		if a.code != 200 || !strings.HasPrefix(a.body, `{"message":{`) || !strings.Contains(a.body, "good day") {
			t.Errorf("message first: %d %s", a.code, a.body)
		}
		all := h.read(h.stream(t.Context(), call{"ann", "POST", "/greet/message:stream", sendParams("hi"), []string{"A2A-Version: 1.0"}}).Body).rest()
		if len(all) != 1 || !strings.HasPrefix(all[0].data, `{"message":{`) {
			t.Errorf("stream of a message: %v", all)
		}
		if now := h.total("ann"); now != n {
			t.Errorf("%d tasks after two messages, want the %d from before", now, n)
		}
	})
}

// In other servers the card allows every origin with credentials. Every origin may read
// Parley's public card without credentials; pages of another origin may read nothing else.
func TestDefect15CardsShareNoCredentials(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		const evil = "Origin: https://evil.example"
		for _, path := range []string{
			"/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/ask/.well-known/agent-card.json",
			"/v1/a2a/ask/.well-known/agent-card.json",
		} {
			for _, method := range []string{"GET", "OPTIONS", "HEAD"} {
				a := h.do(call{"", method, path, "", []string{evil, "Access-Control-Request-Method: GET"}})
				if a.code >= 300 || a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s %s: %d %v", method, path, a.code, a.header)
				}
			}
		}
		for _, c := range []call{
			{"ann", "POST", "/a2a", envelope("SendMessage", sendParams("hi")), []string{evil}},
			{"ann", "OPTIONS", "/a2a", "", []string{evil, "Access-Control-Request-Method: POST"}},
			{"ann", "GET", "/v1/a2a/tasks", "", []string{evil}},
			{"ann", "OPTIONS", "/v1/a2a/message:send", "", []string{evil, "Access-Control-Request-Method: POST"}},
			{"ann", "GET", "/v1/a2a/extendedAgentCard", "", []string{evil}},
		} {
			a := h.do(c)
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s answers with %s", c.method, c.path, name)
				}
			}
			if c.method == "OPTIONS" && a.code != 405 {
				t.Errorf("OPTIONS %s: %d, want 405", c.path, a.code)
			}
		}
	})
}
