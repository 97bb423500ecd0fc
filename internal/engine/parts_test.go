package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// newExternalizer keeps parts longer than 1,000 bytes, for an hour.
func newExternalizer(t testing.TB) *blobstore.Externalizer {
	t.Helper()
	return externalizerIn(t, t.TempDir())
}

func externalizerIn(t testing.TB, dir string) *blobstore.Externalizer {
	t.Helper()
	s, err := blobstore.Open(dir, blobstore.Options{Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return &blobstore.Externalizer{Store: s, Base: "https://hub.example", Threshold: 1000, Max: 1 << 20}
}

var bulk = bytes.Repeat([]byte("0123456789"), 1000)

// file returns a message with a part.
func file(id string, part map[string]any) *op.Send {
	body, _ := json.Marshal(map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{part}})
	return &op.Send{Message: op.Message{ID: id, MediaTypes: []string{""}, Body: body}}
}

// mirror asks for input until it has two messages. It returns all bytes of their parts, in one
// artifact each, the last one in two chunks. It records the parts that it gets.
func mirror(seen *[]string) a2asrv.AgentExecutor {
	return agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		note := func(where string, p *a2a.Part) { *seen = append(*seen, where+" "+kindOf(p)) }
		raw, _ := task.DecodeMessage(agent.CallFrom(ctx).Message)
		note("call", raw.Parts[0])
		note("message", ec.Message.Parts[0])
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "more"), nil)
			return
		}
		note("history", ec.StoredTask.History[0].Parts[0])
		first := a2a.NewArtifactUpdateEvent(ec, "copy", ec.Message.Parts[0])
		second := a2a.NewArtifactUpdateEvent(ec, "copy", a2a.NewRawPart(append([]byte("x"), bulk...)))
		second.Append, second.LastChunk = true, true
		_ = yield(first, nil) && yield(second, nil) && yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}}, agent.Traits{NoMessage: true})
}

func kindOf(p *a2a.Part) string {
	switch c := p.Content.(type) {
	case a2a.Raw:
		if bytes.Equal(c, bulk) {
			return "bytes"
		}
		return "other bytes"
	case a2a.URL:
		return "url"
	}
	return "text"
}

// address returns the URL of the only part of a message or artifact.
func address(t testing.TB, p *a2a.Part) (string, blobstore.Digest) {
	t.Helper()
	u, ok := p.Content.(a2a.URL)
	if !ok {
		t.Fatalf("the part is no reference: %T", p.Content)
	}
	_, tail, _ := strings.Cut(string(u), blobstore.PathPrefix)
	_, d, ok := blobstore.ParsePath(tail)
	if !ok {
		t.Fatalf("%s is no address of a part", u)
	}
	return string(u), d
}

func (b *bench) part(id a2a.TaskID, d blobstore.Digest, c *op.Caller) ([]byte, error) {
	b.t.Helper()
	p, err := b.Part(b.t.Context(), c, id, d)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return io.ReadAll(p)
}

func TestLargeParts(t *testing.T) {
	t.Parallel()
	var seen []string
	log := new(written)
	b := start(t, engine.Config{Store: log, Parts: newExternalizer(t)}, mirror(&seen))
	a := b.send(file("one", map[string]any{"raw": bulk, "filename": "b.bin", "mediaType": "image/png"}))
	id := a.Head.ID
	got := sdkTask(t, a)
	_, d := address(t, got.History[0].Parts[0])
	if p := got.History[0].Parts[0]; p.Filename != "b.bin" || p.MediaType != "image/png" {
		t.Errorf("reference = %+v", p)
	}
	if body, err := b.part(id, d, alice); err != nil || !bytes.Equal(body, bulk) {
		t.Errorf("Part() = %d bytes, %v", len(body), err)
	}

	again := file("two", map[string]any{"raw": bulk})
	again.Message.TaskID = id
	got = sdkTask(t, b.send(again))
	if len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != 2 {
		t.Fatalf("artifacts = %+v", got.Artifacts)
	}
	_, same := address(t, got.Artifacts[0].Parts[0])
	_, chunk := address(t, got.Artifacts[0].Parts[1])
	if same != d || chunk == d {
		t.Errorf("digests of the artifact = %s, %s, of the message %s", same, chunk, d)
	}
	want := []string{"call bytes", "message bytes", "call bytes", "message bytes", "history bytes"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("parts at the executor (-want +got):\n%s", diff)
	}
	if log.largest > 2000 {
		t.Errorf("an entry of the log has %d bytes", log.largest)
	}
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range follow(t, s) {
		if len(ev.Frame) > 2000 {
			t.Errorf("frame %d has %d bytes", ev.Version, len(ev.Frame))
		}
	}
}

// The message of a status has large parts like other messages; so has an immediate answer of an
// agent that comes too late to be a bare message.
func TestLargeStatus(t *testing.T) {
	t.Parallel()
	log := new(written)
	b := start(t, engine.Config{Store: log, Parts: newExternalizer(t)}, agent.With(&executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewRawPart(bulk))
		if ec.StoredTask == nil {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, m), nil)
			return
		}
		yield(m, nil)
	}}, agent.Traits{NoMessage: true}))
	id := b.send(text("hi")).Head.ID
	for _, want := range []task.State{task.InputRequired, task.Completed} {
		a := b.get(id)
		_, d := address(t, sdkTask(t, a).Status.Message.Parts[0])
		if got, err := b.part(id, d, alice); err != nil || !bytes.Equal(got, bulk) || a.Head.State != want {
			t.Errorf("%v: Part() = %d bytes, %v", a.Head.State, len(got), err)
		}
		if want == task.InputRequired {
			b.send(reply(id, "continue"))
		}
	}
	page, err := b.List(t.Context(), alice, &op.List{PageSize: 10})
	if err != nil || len(page.Tasks[0].Head.StatusMessage) > 2000 || log.largest > 2000 {
		t.Errorf("List() has a message of %d bytes, the log one of %d, %v", len(page.Tasks[0].Head.StatusMessage), log.largest, err)
	}
}

// written is a store in memory that records the size of its largest entry.
type written struct {
	memstore.Store
	largest int
}

func (w *written) Append(ctx context.Context, c *task.Change) error {
	w.largest = max(w.largest, len(c.Next.StatusMessage))
	for i := range c.Entries {
		w.largest = max(w.largest, len(c.Entries[i].Body)+len(c.Entries[i].Meta))
	}
	return w.Store.Append(ctx, c)
}

// Another caller gets the same error for a part as for a task that does not exist, even if it
// has the same content.
func TestPartsOfOthers(t *testing.T) {
	t.Parallel()
	var seen []string
	b := start(t, engine.Config{Parts: newExternalizer(t)}, mirror(&seen))
	id := b.send(file("one", map[string]any{"raw": bulk})).Head.ID
	_, d := address(t, sdkTask(t, b.get(id)).History[0].Parts[0])
	bob := caller("bob")
	answer, err := b.Send(t.Context(), bob, file("one", map[string]any{"raw": bulk}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.part(answer.Head.ID, d, bob); err != nil {
		t.Errorf("the caller's own part of the same content: %v", err)
	}
	_, missing := b.part("missing", d, bob)
	_, foreign := b.part(id, d, bob)
	if !errors.Is(missing, a2a.ErrTaskNotFound) || missing.Error() != foreign.Error() {
		t.Errorf("Part() of another's task = %v, of a missing one %v", foreign, missing)
	}
	_, theirs := b.part(answer.Head.ID, d, alice)
	if !errors.Is(theirs, a2a.ErrTaskNotFound) || theirs.Error() != missing.Error() {
		t.Errorf("Part() of another's task = %v", theirs)
	}
	if _, err := b.part(id, blobstore.Digest{}, alice); !errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, engine.ErrPartGone) {
		t.Errorf("Part() that was never there = %v", err)
	}
}

// A caller may send references to its own parts: the task gets a copy. A reference that it may
// not read is refused, whether the part exists or not, and no part is stored.
func TestPartsSentOn(t *testing.T) {
	t.Parallel()
	var seen []string
	b := start(t, engine.Config{Parts: newExternalizer(t)}, mirror(&seen))
	id := b.send(file("one", map[string]any{"raw": bulk})).Head.ID
	u, d := address(t, sdkTask(t, b.get(id)).History[0].Parts[0])
	next := b.send(file("two", map[string]any{"url": u, "filename": "again"})).Head.ID
	own, same := address(t, sdkTask(t, b.get(next)).History[0].Parts[0])
	if same != d || own == u || !strings.Contains(own, string(next)) {
		t.Errorf("the second task has %s, the first one %s", own, u)
	}
	if got := seen[len(seen)-2:]; !cmp.Equal(got, []string{"call bytes", "message bytes"}) {
		t.Errorf("the executor has seen %q", got)
	}
	var answers []string
	for _, address := range []string{u, strings.Replace(u, string(id), "missing", 1), strings.Replace(u, d.String(), blobstore.Digest{}.String(), 1)} {
		_, err := b.Send(t.Context(), caller("bob"), file("x", map[string]any{"url": address}))
		var f *apierror.Error
		if !errors.As(err, &f) || !errors.Is(err, a2a.ErrInvalidParams) {
			t.Fatalf("Send(%s) = %v", address, err)
		}
		answers = append(answers, f.Message)
	}
	if want := "message.parts[0].url: is not a part that you may read"; answers[0] != want || answers[1] != want || answers[2] != want {
		t.Errorf("refusals = %q", answers)
	}
	page, err := b.List(t.Context(), caller("bob"), &op.List{PageSize: 10})
	if err != nil || len(page.Tasks) > 0 {
		t.Errorf("List() = %d tasks, %v", len(page.Tasks), err)
	}
	elsewhere := "https://other.example/v1/parts/" + string(id) + "/" + d.String()
	got := sdkTask(t, b.send(file("three", map[string]any{"url": elsewhere}))).History[0].Parts[0]
	if got.Content != a2a.URL(elsewhere) || seen[len(seen)-1] != "message url" {
		t.Errorf("an address elsewhere became %+v, and the executor has %s", got, seen[len(seen)-1])
	}
}

// A task that ended as a bare message does not exist for its caller, nor do its parts, even for
// a caller that knows all names.
func TestPartsOfHiddenTasks(t *testing.T) {
	t.Parallel()
	var id a2a.TaskID
	b := start(t, engine.Config{Parts: newExternalizer(t)}, &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		id = ec.TaskID
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewRawPart(bulk)), nil)
	}})
	a := b.send(file("one", map[string]any{"raw": bulk}))
	if a.Message == nil || !bytes.Contains(a.Message, []byte(`"raw"`)) {
		t.Fatalf("the answer is %.100s", a.Message)
	}
	d := blobstore.Digest(sha256.Sum256(bulk))
	if _, err := b.part(id, d, alice); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Part() = %v", err)
	}
	address := "https://hub.example" + blobstore.PathPrefix + string(id) + "/" + d.String()
	if _, err := b.Send(t.Context(), alice, file("two", map[string]any{"url": address})); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("Send() of its address = %v", err)
	}
}

// An agent that delegates to another one gets the bytes of the other's parts, and can pass them
// on.
func TestPartsOfDelegations(t *testing.T) {
	t.Parallel()
	var asked, answered string
	b := start(t, engine.Config{Parts: newExternalizer(t)}, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "other", Message: ec.Message})
		if err != nil {
			yield(nil, err)
			return
		}
		child, err := task.DecodeTask(got.JSON)
		if err != nil {
			yield(nil, err)
			return
		}
		p := child.Artifacts[0].Parts[0]
		answered = kindOf(p)
		_ = yield(a2a.NewArtifactUpdateEvent(ec, "copy", p), nil) && yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}})
	b.register("other", &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		asked = kindOf(ec.Message.Parts[0])
		_ = yield(a2a.NewArtifactUpdateEvent(ec, "copy", ec.Message.Parts[0]), nil) && yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}})
	a := b.send(file("one", map[string]any{"raw": bulk}))
	if asked != "bytes" || answered != "bytes" {
		t.Errorf("the other agent has got %s, the first one %s", asked, answered)
	}
	_, d := address(t, sdkTask(t, a).Artifacts[0].Parts[0])
	if got, err := b.part(a.Head.ID, d, alice); err != nil || !bytes.Equal(got, bulk) {
		t.Errorf("Part() = %d bytes, %v", len(got), err)
	}
}

// A part of 32 MiB makes the log longer by only a reference.
func TestPartsGrowNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sqlitestore.Open(filepath.Join(dir, "db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	size := func() (n int64) {
		found, _ := filepath.Glob(filepath.Join(dir, "db*"))
		for _, name := range found {
			if info, err := os.Stat(name); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	k := newExternalizer(t)
	k.Max = 0
	var content []byte
	b := start(t, engine.Config{Store: db.Tasks(), Parts: k}, agent.With(&executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewArtifactUpdateEvent(ec, "a", a2a.NewRawPart(content)), nil) && yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}, agent.Traits{NoMessage: true}))
	content = []byte("small")
	b.send(text("warm up"))
	before := size()
	content = make([]byte, 32<<20)
	a := b.send(text("hi"))
	grown := size() - before
	if grown > 256<<10 { // whole pages, in the database and in its write-ahead log
		t.Errorf("an artifact of %d bytes made the log %d bytes longer", len(content), grown)
	}
	shown := a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{Artifacts: true})
	if len(shown) > 2000 {
		t.Errorf("the task has %d bytes", len(shown))
	}
	t.Logf("an artifact of %d MiB: the log grows by %d bytes, the task has %d", len(content)>>20, grown, len(shown))
}

func TestPartsTooLarge(t *testing.T) {
	t.Parallel()
	huge := make([]byte, 1<<20+1)
	k := newExternalizer(t)
	b := start(t, engine.Config{Parts: k}, agent.With(&executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if yield(a2a.NewArtifactUpdateEvent(ec, "huge", a2a.NewRawPart(huge)), nil) {
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}
	}}, agent.Traits{NoMessage: true}))
	_, err := b.Send(t.Context(), alice, file("one", map[string]any{"raw": huge}))
	if !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "message.parts[0].raw: has 1048577 bytes; the maximum is 1048576") {
		t.Errorf("Send() = %v", err)
	}
	body, _ := json.Marshal(map[string]any{"messageId": "two", "role": "ROLE_USER", "parts": []any{map[string]any{"raw": bulk}, map[string]any{"raw": huge}}})
	_, err = b.Send(t.Context(), alice, &op.Send{Message: op.Message{ID: "two", MediaTypes: []string{"", ""}, Body: body}})
	if _, contents := k.Store.(*blobstore.Folder).Len(); err == nil || contents > 0 {
		t.Errorf("of a message that was refused (%v), %d parts are left", err, contents)
	}
	a := b.send(text("hi"))
	if a.Head.State != task.Failed || !strings.Contains(statusText(t, a), "has 1048577 bytes; the maximum is 1048576") {
		t.Errorf("the task of an agent with too much = %v: %s", a.Head.State, statusText(t, a))
	}
}

// Parts are kept for their time after the end of the task. Then they are deleted, and the task
// still refers to them.
func TestPartsExpire(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		k := externalizerIn(t, dir)
		b := start(t, engine.Config{Parts: k, Limits: limits.Limits{Retention: 3 * time.Hour}}, mirror(&seen))
		id := b.send(file("one", map[string]any{"raw": bulk})).Head.ID
		_, d := address(t, sdkTask(t, b.get(id)).History[0].Parts[0])
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if _, err := b.part(id, d, alice); err != nil {
			t.Errorf("a part of an open task after a day: %v", err)
		}
		b.send(reply(id, "continue"))
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		if _, err := b.part(id, d, alice); err != nil {
			t.Errorf("before its time: %v", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := b.part(id, d, alice); !errors.Is(err, engine.ErrPartGone) {
			t.Errorf("when its time is over, and before it is swept: %v, want ErrPartGone", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if tasks, contents := k.Store.(*blobstore.Folder).Len(); tasks != 0 || contents != 0 {
			t.Errorf("after the sweep %d contents of %d tasks are left", contents, tasks)
		}
		if _, err := b.part(id, d, alice); !errors.Is(err, engine.ErrPartGone) {
			t.Errorf("after the sweep: %v, want ErrPartGone", err)
		}
		address(t, sdkTask(t, b.get(id)).History[0].Parts[0])
		if _, err := b.part(id, d, caller("bob")); !errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, engine.ErrPartGone) {
			t.Errorf("the error for other callers: %v", err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if _, err := b.part(id, d, alice); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("after the task is gone: %v, want ErrTaskNotFound", err)
		}
		b.stop()
	})
}

// A part whose file is missing is gone, and the operator is notified. The executor receives the
// reference.
func TestPartsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var seen []string
	b := start(t, engine.Config{Parts: externalizerIn(t, dir)}, mirror(&seen))
	id := b.send(file("one", map[string]any{"raw": bulk})).Head.ID
	_, d := address(t, sdkTask(t, b.get(id)).History[0].Parts[0])
	found, err := filepath.Glob(filepath.Join(dir, "owners", "*", "*", "content"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.part(id, d, alice); !errors.Is(err, engine.ErrPartGone) {
		t.Errorf("Part() = %v, want ErrPartGone", err)
	}
	if a := b.send(reply(id, "continue")); a.Head.State != task.Completed || seen[len(seen)-1] != "history url" {
		t.Errorf("the task is %v, and the executor has %q", a.Head.State, seen)
	}
}

// A message whose part cannot be stored is refused, and a later one is accepted. The part of an
// agent waits until it can be stored.
func TestPartsDiskFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	temp := filepath.Join(dir, "new")
	partsDiskFails(t, dir, "its folder cannot be written",
		func() error { return os.Remove(temp) }, func() error { return os.Mkdir(temp, 0o700) })
}

// partsDiskFails tests with a folder of parts that cannot be written, after fails, until heals.
func partsDiskFails(t *testing.T, dir, why string, fails, heals func() error) {
	t.Helper()
	begun, proceed := make(chan struct{}), make(chan struct{})
	b := start(t, engine.Config{Parts: externalizerIn(t, dir)}, agent.With(&executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		begun <- struct{}{}
		<-proceed
		_ = yield(a2a.NewArtifactUpdateEvent(ec, "a", a2a.NewRawPart(bulk)), nil) && yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}}, agent.Traits{NoMessage: true}))
	if err := fails(); err != nil {
		t.Fatal(err)
	}
	_, err := b.Send(t.Context(), alice, file("one", map[string]any{"raw": bulk}))
	var f *apierror.Error
	if !errors.As(err, &f) || !errors.Is(f, apierror.ErrUnavailable) || f.Message != "message.parts[0]: the hub cannot store this part now: "+why || f.RetryAfter == 0 {
		t.Errorf("Send() = %v", err)
	}
	id := b.send(now(text("hi"))).Head.ID
	<-begun
	close(proceed)
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if events, err := s.Next(t.Context(), 200*time.Millisecond); len(events) > 0 || err != nil {
		t.Errorf("without a disk: %d events, %v", len(events), err)
	}
	if err := heals(); err != nil {
		t.Fatal(err)
	}
	follow(t, s)
	_, d := address(t, sdkTask(t, b.get(id)).Artifacts[0].Parts[0])
	if body, err := b.part(id, d, alice); err != nil || !bytes.Equal(body, bulk) {
		t.Errorf("Part() = %d bytes, %v", len(body), err)
	}
}

// A change that is not stored leaves no part behind.
func TestPartsOfConflicts(t *testing.T) {
	t.Parallel()
	var seen []string
	k := newExternalizer(t)
	b := start(t, engine.Config{Parts: k}, mirror(&seen))
	id := b.send(text("hi")).Head.ID
	b.send(reply(id, "continue"))
	again := file("late", map[string]any{"raw": bulk})
	again.Message.TaskID = id
	_, before := k.Store.(*blobstore.Folder).Len()
	if _, err := b.Send(t.Context(), alice, again); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("Send() to a task that has ended = %v", err)
	}
	if _, after := k.Store.(*blobstore.Folder).Len(); after != before {
		t.Errorf("a message that was refused left %d parts", after-before)
	}
}

// failsOnce is a store that fails once, without having stored anything.
type failsOnce struct {
	memstore.Store
	fail atomic.Bool
}

func (b *failsOnce) Append(ctx context.Context, c *task.Change) error {
	if b.fail.CompareAndSwap(true, false) {
		return task.ErrUnavailable
	}
	return b.Store.Append(ctx, c)
}

// While it is unknown whether an entry was stored, its part is kept.
func TestPartsOfAnUncertainChange(t *testing.T) {
	t.Parallel()
	var seen []string
	k, log := newExternalizer(t), new(failsOnce)
	b := start(t, engine.Config{Store: log, Parts: k}, mirror(&seen))
	id := b.send(text("hi")).Head.ID
	log.fail.Store(true)
	late := file("late", map[string]any{"raw": bulk})
	late.Message.TaskID = id
	if _, err := b.Send(t.Context(), alice, late); !errors.Is(err, task.ErrUnavailable) {
		t.Fatalf("Send() = %v", err)
	}
	if _, contents := k.Store.(*blobstore.Folder).Len(); contents != 1 {
		t.Errorf("at once there are %d parts, want 1", contents)
	}
	b.SweepParts(t.Context(), time.Now().Add(blobstore.Grace+time.Minute))
	if _, contents := k.Store.(*blobstore.Folder).Len(); contents != 0 {
		t.Errorf("after the sweep there are %d parts, want none: no entry names it", contents)
	}
}

// Without a threshold nothing changes.
func TestPartsOff(t *testing.T) {
	t.Parallel()
	var seen []string
	b := start(t, engine.Config{}, mirror(&seen))
	a := b.send(file("one", map[string]any{"raw": bulk}))
	if kindOf(sdkTask(t, a).History[0].Parts[0]) != "bytes" {
		t.Errorf("the caller has %s", kindOf(sdkTask(t, a).History[0].Parts[0]))
	}
	if _, err := b.part(a.Head.ID, blobstore.Digest{}, alice); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Part() = %v", err)
	}
}

// A caller that may not get the tasks of an agent can neither get their parts nor pass them to
// another agent.
func TestPartsAndPolicy(t *testing.T) {
	t.Parallel()
	var seen []string
	b := start(t, engine.Config{Parts: newExternalizer(t), Policy: ruled(t,
		policy.Rule{Ops: []string{"*"}, Roles: []string{"boss"}},
		policy.Rule{Ops: []string{"*"}, Roles: []string{"clerk"}, Agents: []string{"other"}},
	)}, mirror(&seen))
	b.register("other", mirror(&seen))
	boss, clerk := colleague("ann", "boss"), colleague("bob", "clerk")
	a, err := b.Send(t.Context(), boss, file("one", map[string]any{"raw": bulk}))
	if err != nil {
		t.Fatal(err)
	}
	u, d := address(t, sdkTask(t, a).History[0].Parts[0])
	if _, err := b.part(a.Head.ID, d, boss); err != nil {
		t.Errorf("Part() of the boss = %v", err)
	}
	if _, err := b.part(a.Head.ID, d, clerk); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Part() of the clerk = %v", err)
	}
	for user, c := range map[string]*op.Caller{"boss": boss, "clerk": clerk} {
		r := file("on", map[string]any{"url": u})
		r.Agent = "other"
		_, err := b.Send(t.Context(), c, r)
		if refused := errors.Is(err, a2a.ErrInvalidParams); refused != (user == "clerk") || err != nil && !refused {
			t.Errorf("the %s sends it on: %v", user, err)
		}
	}
}
