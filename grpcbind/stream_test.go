package grpcbind_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// shape describes a frame in one word.
func shape(m *pb.StreamResponse) string {
	short := func(s pb.TaskState) string { return strings.TrimPrefix(s.String(), "TASK_STATE_") }
	switch p := m.GetPayload().(type) {
	case *pb.StreamResponse_Task:
		return "task:" + short(p.Task.GetStatus().GetState())
	case *pb.StreamResponse_Message:
		return "message:" + p.Message.GetParts()[0].GetText()
	case *pb.StreamResponse_StatusUpdate:
		return "status:" + short(p.StatusUpdate.GetStatus().GetState())
	case *pb.StreamResponse_ArtifactUpdate:
		a := p.ArtifactUpdate
		return fmt.Sprintf("artifact:%s:%v:%v", a.GetArtifact().GetParts()[0].GetText(), a.GetAppend(), a.GetLastChunk())
	}
	return "nothing"
}

func shapes(all []*pb.StreamResponse) []string {
	var out []string
	for _, m := range all {
		out = append(out, shape(m))
	}
	return out
}

type stream = grpc.ServerStreamingClient[pb.StreamResponse]

// opened returns s, or fails the test.
func opened(t *testing.T, s stream, err error) stream {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func lastEventID(s stream) string { return strings.Join(s.Trailer().Get("last-event-id"), ",") }

// TestLastEventID checks that a stream ends with the version of its last change, in both versions of
// the protocol.
func TestLastEventID(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, nil)
	s, err := h.client.SendStreamingMessage(t.Context(), textRequest("one two three"))
	if _, err := drain(opened(t, s, err)); err != nil {
		t.Fatal(err)
	}
	old, err := h.legacy().SendStreamingMessage(t.Context(), textRequest0("one two"))
	if _, err := drain0(old, err); err != nil {
		t.Fatal(err)
	}
	if got, older := s.Trailer().Get("last-event-id"), old.Trailer().Get("last-event-id"); !slices.Equal(got, []string{"6"}) || !slices.Equal(older, []string{"5"}) {
		t.Errorf("trailers last-event-id = %q and %q, want 6 and 5", got, older)
	}
}

// TestStreamEndsWithAQuestion checks that a stream of a message ends when the agent asks, and a
// subscription does not (specification §3.1.2, §3.1.6).
func TestStreamEndsWithAQuestion(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, ask, nil)
	s, err := h.client.SendStreamingMessage(t.Context(), textRequest("x"))
	all, err := drain(opened(t, s, err))
	if diff := cmp.Diff([]string{"task:SUBMITTED", "status:INPUT_REQUIRED"}, shapes(all)); err != nil || diff != "" {
		t.Fatalf("error %v, stream mismatch (-want +got):\n%s", err, diff)
	}
	id := all[0].GetTask().GetId()
	s, err = h.client.SubscribeToTask(t.Context(), &pb.SubscribeToTaskRequest{Id: id})
	sub := opened(t, s, err)
	if m, err := sub.Recv(); err != nil || shape(m) != "task:INPUT_REQUIRED" {
		t.Fatalf("subscription begins with %v, %v; want the task", m, err)
	}
	follow := textRequest("seven")
	follow.Message.TaskId = id
	s, err = h.client.SendStreamingMessage(t.Context(), follow)
	all, err = drain(opened(t, s, err))
	if err != nil || shapes(all)[len(all)-1] != "status:COMPLETED" && shapes(all)[0] != "task:COMPLETED" {
		t.Errorf("follow-up stream = %v, %v; want it to end with the task", shapes(all), err)
	}
	all, err = drain(sub)
	if diff := cmp.Diff([]string{"status:COMPLETED"}, shapes(all)); err != nil || diff != "" {
		t.Errorf("error %v, subscription mismatch (-want +got):\n%s", err, diff)
	}
}

func TestNoStreaming(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{NoStreaming: true}, words, nil)
	s, err := h.client.SendStreamingMessage(t.Context(), textRequest("x"))
	_, err = drain(opened(t, s, err))
	if got := failureOf(t, err); got.Reason != "UNSUPPORTED_OPERATION" || got.Code != codes.FailedPrecondition {
		t.Errorf("SendStreamingMessage: %v, want UNSUPPORTED_OPERATION", err)
	}
	if got := h.send(textRequest("x")); artifactText(got) != "x" {
		t.Errorf("SendMessage = %v, want an answer", got)
	}
}

func TestStreamLimits(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]engine.Config{
		"of a caller": {Limits: limits.Limits{StreamsPerCaller: 1}},
		"of the hub":  {Limits: limits.Limits{Streams: 1, StreamsPerCaller: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newHolder()
			if limits.Store == nil {
				limits.Store = new(memstore.Store)
			}
			h := start(t, grpcbind.Config{Engine: engine.New(limits)}, x, nil)
			req := &pb.SubscribeToTaskRequest{Id: h.begin(x, textRequest("x")).GetId()}
			s, err := h.client.SubscribeToTask(t.Context(), req)
			if _, err := opened(t, s, err).Recv(); err != nil {
				t.Fatal(err)
			}
			second, err := h.client.SubscribeToTask(t.Context(), req)
			_, err = opened(t, second, err).Recv()
			if got := failureOf(t, err); got.Code != codes.ResourceExhausted || got.Reason != "RESOURCE_EXHAUSTED" {
				t.Errorf("second stream: %v, want RESOURCE_EXHAUSTED", err)
			}
			close(x.letGo)
			if _, err := drain(s); err != nil {
				t.Fatal(err)
			}
			// The slot is released before the caller gets the end of the stream.
			third, err := h.client.SubscribeToTask(with(t.Context(), "last-event-id", "1"), req)
			if _, err := drain(opened(t, third, err)); err != nil {
				t.Errorf("third stream: %v", err)
			}
		})
	}
}

func TestCallsPerConnection(t *testing.T) {
	t.Parallel()
	x := newHolder()
	h := start(t, grpcbind.Config{Limits: grpcbind.Limits{CallsPerConnection: 1}}, x, nil)
	id := h.begin(x, textRequest("x")).GetId()
	s, err := h.client.SubscribeToTask(t.Context(), &pb.SubscribeToTaskRequest{Id: id})
	if _, err := opened(t, s, err).Recv(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.client.GetTask(ctx, &pb.GetTaskRequest{Id: id}); failureOf(t, err).Code != codes.DeadlineExceeded {
		t.Errorf("second call: %v, want it to wait until its deadline", err)
	}
	close(x.letGo)
	if _, err := drain(s); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.GetTask(t.Context(), &pb.GetTaskRequest{Id: id}); err != nil {
		t.Errorf("call after the stream: %v", err)
	}
}

// TestCallerGoesAway checks that a caller that disconnects changes nothing.
func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	x := newHolder()
	h := start(t, grpcbind.Config{}, x, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := h.client.SendStreamingMessage(ctx, textRequest("x"))
	m, err := opened(t, s, err).Recv()
	if err != nil {
		t.Fatal(err)
	}
	<-x.began
	cancel()
	if _, err := drain(s); failureOf(t, err).Code != codes.Canceled {
		t.Errorf("stream of a caller that left: %v, want CANCELLED", err)
	}
	if err := h.stopBinding(); err != nil { // the hub has noticed when its calls have ended
		t.Fatal(err)
	}
	caller := &op.Caller{Principal: &auth.Principal{ID: auth.Local}}
	st, err := h.engine.Subscribe(t.Context(), caller, &op.Subscribe{ID: a2a.TaskID(m.GetTask().GetId())})
	if err != nil || st.Task.State != task.Working || st.Task.CancelAt != 0 {
		t.Fatalf("the task afterwards = %+v, %v; want it at work", st, err)
	}
	defer st.Close()
	close(x.letGo)
	events, err := st.Next(t.Context(), time.Minute)
	if err != nil || len(events) == 0 || events[len(events)-1].State != task.Completed {
		t.Errorf("the task ends with %v, %v; want COMPLETED", events, err)
	}
}

// TestStalledReader checks that a caller that does not read is disconnected, without effects on
// others.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	for limit := time.Second; !stalls(t, limit); limit *= 2 {
		if limit > time.Minute {
			t.Fatalf("nothing was sent before the stream was cut after %v", limit)
		}
	}
}

// stalls does the test with a limit; it reports whether the machine sent the first frame in time.
func stalls(t *testing.T, limit time.Duration) bool {
	t.Helper()
	// Together more than the client accepts unread.
	big := strings.Repeat("x", 64<<10)
	flood := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		for range 64 {
			if !yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart(big)), nil) {
				return
			}
		}
		yield(state(ec, a2a.TaskStateCompleted, "done"), nil)
	}}
	logger, logged := records()
	cfg := grpcbind.Config{Logger: logger, Limits: grpcbind.Limits{SendTime: limit}}
	h := start(t, cfg, words, agents{"flood": flood})
	s, err := h.client.SendStreamingMessage(t.Context(), to("flood", textRequest("x")))
	stalled := opened(t, s, err)
	if rec := <-logged; rec.Message != "stream was not read" {
		t.Fatalf("the log has %q, want the stalled stream", rec.Message)
	}
	if got := h.send(textRequest("still there")); artifactText(got) != "still there" {
		t.Errorf("SendMessage of another caller = %v, want an answer", got)
	}
	all, err := drain(stalled)
	if got := failureOf(t, err); got.Code != codes.DeadlineExceeded || len(all) >= 64 {
		t.Errorf("stalled stream gave %d frames and %v, want fewer and DEADLINE_EXCEEDED", len(all), err)
	}
	if len(all) == 0 {
		return false
	}
	// This reader may be slow on a busy machine, too: it reconnects as often as necessary.
	id := all[0].GetTask().GetId()
	for err != nil {
		resume := with(t.Context(), "last-event-id", strconv.Itoa(len(all)))
		s, err = h.client.SubscribeToTask(resume, &pb.SubscribeToTaskRequest{Id: id})
		var rest []*pb.StreamResponse
		rest, err = drain(opened(t, s, err))
		all = append(all, rest...)
		if err != nil && failureOf(t, err).Code != codes.DeadlineExceeded {
			t.Fatalf("resumed after %d frames: %v", len(all), err)
		}
	}
	if len(all) != 66 {
		t.Errorf("%d frames in all, want 66", len(all))
	}
	return true
}

// slowStream takes longer for each message than the limit.
type slowStream struct {
	grpc.ServerStream

	sent func()
}

func (s *slowStream) SendMsg(m any) error {
	<-time.After(3 * slowLimit)
	s.sent()
	return s.ServerStream.SendMsg(m)
}

const slowLimit = 10 * time.Millisecond

// TestStalledTwice checks that a reader may exceed the limit again while the cut-off call is
// still ending.
func TestStalledTwice(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	again := make(chan struct{})
	slow := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return handle(srv, &slowStream{ss, func() {
			if sent.Add(1) == 3 {
				close(again)
			}
		}})
	}
	cut := make(chan struct{})
	many := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		for range 8 {
			yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("x")), nil)
		}
		<-cut // otherwise the task could end first on a stalled machine
	}}
	h := start(t, grpcbind.Config{
		Logger:  slog.New(slowLog{slog.DiscardHandler, again}),
		Limits:  grpcbind.Limits{SendTime: slowLimit},
		Options: []grpc.ServerOption{grpc.StreamInterceptor(slow)},
	}, many, nil)
	defer close(cut)
	s, err := h.client.SendStreamingMessage(t.Context(), textRequest("x"))
	_, err = drain(opened(t, s, err))
	if got := failureOf(t, err); got.Code != codes.DeadlineExceeded {
		t.Errorf("the stream ends with %v, want DEADLINE_EXCEEDED", err)
	}
}

// slowLog blocks on each record until a channel is closed.
type slowLog struct {
	slog.Handler

	until <-chan struct{}
}

func (slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(context.Context, slog.Record) error {
	<-l.until
	return nil
}

// TestHubStops checks that a stream that ends too early reports that, and can be resumed.
func TestHubStops(t *testing.T) {
	t.Parallel()
	x := newHolder()
	h := start(t, grpcbind.Config{}, ask, agents{"held": x})
	id := h.send(textRequest("x")).GetId()
	s, err := h.client.SubscribeToTask(t.Context(), &pb.SubscribeToTaskRequest{Id: id})
	if _, err := opened(t, s, err).Recv(); err != nil {
		t.Fatal(err)
	}
	if err := h.stopEngine(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Recv()
	if got := failureOf(t, err); got.Code != codes.Unavailable || got.Reason != "UNAVAILABLE" {
		t.Errorf("the stream ends with %v, want UNAVAILABLE", err)
	}
	if got := lastEventID(s); got != "2" {
		t.Errorf("trailer last-event-id = %q, want 2", got)
	}
	_, err = h.client.SendMessage(t.Context(), textRequest("y"))
	if got := failureOf(t, err); got.Code != codes.Unavailable {
		t.Errorf("SendMessage to a hub that stops: %v, want UNAVAILABLE", err)
	}
}

// TestServeStops checks that Serve lets calls end, and cuts those that do not.
func TestServeStops(t *testing.T) {
	t.Parallel()
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		x := newHolder()
		h := start(t, grpcbind.Config{}, x, nil)
		s, err := h.client.SendStreamingMessage(t.Context(), textRequest("x"))
		if _, err := opened(t, s, err).Recv(); err != nil {
			t.Fatal(err)
		}
		<-x.began
		stopped := make(chan error)
		go func() { stopped <- h.stopBinding() }()
		close(x.letGo)
		if all, err := drain(s); err != nil || shapes(all)[len(all)-1] != "status:COMPLETED" {
			t.Errorf("the stream ends with %v, %v; want all of it", shapes(all), err)
		}
		if err := <-stopped; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		x := newHolder()
		h := start(t, grpcbind.Config{Limits: grpcbind.Limits{StopTime: time.Millisecond}}, x, nil)
		s, err := h.client.SendStreamingMessage(t.Context(), textRequest("x"))
		if _, err := opened(t, s, err).Recv(); err != nil {
			t.Fatal(err)
		}
		<-x.began
		if err := h.stopBinding(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if _, err := drain(s); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the stream ends with %v, want an error", err)
		}
		close(x.letGo)
	})
}
