package assistant_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// fixture is a desk with a caller. The time of a bubble begins on Saturday, 2000-01-01 00:00
// UTC.
type fixture struct {
	t     *testing.T
	desk  *assistant.Assistant
	notes *dirstore.Memory
	n     int
}

func newFixture(t *testing.T) *fixture {
	o := &fixture{t: t, notes: new(dirstore.Memory)}
	o.reopen()
	return o
}

// reopen simulates a restart: only the notes remain.
func (o *fixture) reopen() { o.desk = &assistant.Assistant{Inbox: new(inbox.Inbox), Notes: o.notes} }

// earlier simulates a start with the calendar of an earlier version.
func (o *fixture) earlier() {
	o.t.Helper()
	const name = "front desk"
	note, err := o.notes.Note(o.t.Context(), name)
	if err != nil || !bytes.Contains(note, []byte(`"negotiations":`)) {
		o.t.Fatalf("the calendar is %s, %v", note, err)
	}
	if err := o.notes.PutNote(o.t.Context(), name, bytes.Replace(note, []byte(`"negotiations":`), []byte(`"talks":`), 1)); err != nil {
		o.t.Fatal(err)
	}
	o.reopen()
}

// ask sends a message of a caller in a context. It returns the final state and text.
func (o *fixture) ask(name task.Agent, who, contextID, text string) string {
	o.t.Helper()
	o.n++
	return o.repeat(name, who, contextID, text)
}

// repeat executes the same message again.
func (o *fixture) repeat(name task.Agent, who, contextID, text string) string {
	o.t.Helper()
	id := a2a.TaskID(fmt.Sprint("task-", o.n))
	ctx := auth.WithPrincipal(o.t.Context(), &auth.Principal{ID: who})
	ctx = agent.WithCall(ctx, &agent.Call{Key: string(id) + "/1", Agent: name})
	ec := &a2asrv.ExecutorContext{TaskID: id, ContextID: contextID, Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
	var last string
	for _, a := range o.desk.Agents() {
		if a.Name != name {
			continue
		}
		for ev, err := range a.Executor.Execute(ctx, ec) {
			if err != nil {
				return "error: " + err.Error()
			}
			if ev, ok := ev.(*a2a.TaskStatusUpdateEvent); ok {
				last = strings.TrimPrefix(string(ev.Status.State), "TASK_STATE_") + " " + agent.Text(ev.Status.Message)
			}
		}
	}
	return last
}

func (o *fixture) meet(who, contextID, text string) string {
	o.t.Helper()
	return o.ask(assistant.NegotiateMeeting, who, contextID, text)
}

func (o *fixture) want(got, want string) {
	o.t.Helper()
	if !strings.HasPrefix(got, want) {
		o.t.Errorf("the desk says %q, want %q", got, want)
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t)
		o.want(o.meet("ann", "c1", "Hello, shall we meet?"), "INPUT_REQUIRED When would suit you?")
		o.want(o.meet("ann", "c1", "for 45 minutes"), "INPUT_REQUIRED When would suit you?")
		o.want(o.meet("ann", "c1", "on 2000-01-03 08:00 or 2000-01-08 10:00"), "INPUT_REQUIRED That does not work. How about 2000-01-03 09:00 (UTC), for 45 minutes?")
		o.earlier()
		o.want(o.meet("ann", "c1", "no, sorry"), "INPUT_REQUIRED That does not work. How about 2000-01-03 09:15")
		o.want(o.meet("bob", "c1", "yes"), "INPUT_REQUIRED When would suit you?") // a context of the same name of another caller
		o.want(o.meet("ann", "c1", "Yes."), "COMPLETED Agreed: 2000-01-03 09:15 to 10:00 (UTC).")
		o.want(o.repeat(assistant.NegotiateMeeting, "ann", "c1", "Yes."), "COMPLETED Agreed: 2000-01-03 09:15 to 10:00 (UTC).")
		items, err := o.desk.Inbox.List(t.Context(), new(inbox.Query))
		if err != nil || len(items) != 1 || items[0].Text != "A meeting with ann: 2000-01-03 09:15 to 10:00 (UTC)." {
			t.Errorf("the owner receives %+v, %v", items, err)
		}
		o.want(o.meet("bob", "c2", "2000-01-03T09:45:00Z, an hour? 1 hour"), "INPUT_REQUIRED That does not work. How about 2000-01-03 10:00 (UTC), for 60 minutes?")
		o.want(o.repeat(assistant.NegotiateMeeting, "bob", "c2", "2000-01-03T09:45:00Z, an hour? 1 hour"), "INPUT_REQUIRED That does not work. How about 2000-01-03 10:00")
		o.want(o.meet("bob", "c2", "2000-01-03T12:00+02:00 is better"), "COMPLETED Agreed: 2000-01-03 10:00 to 11:00")
	})
}

// TestForgottenNegotiationsContinue checks that the desk restores a dropped negotiation from the
// stored conversation.
func TestForgottenNegotiationsContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t)
		turns, n := new(memory.Turns), 0
		forget := func() {
			o.notes = new(dirstore.Memory)
			o.reopen()
			o.desk.History = turns
		}
		forget()
		// say is meet with the turn stored in memory.
		send := func(text string) string {
			n++
			at := time.Now().Add(time.Duration(n) * time.Second)
			id := a2a.TaskID(fmt.Sprint("task-", o.n+1))
			remember := func(version int64, role, name, text string) {
				s := memory.SessionOf("ann", "c", "")
				if err := turns.Append(t.Context(), s, memory.Turn{ID: memory.TurnID(id, version), Role: role, Name: name, Text: text, At: at}); err != nil {
					t.Fatal(err)
				}
			}
			remember(1, memory.RoleCaller, "Ann", text)
			reply := o.meet("ann", "c", text)
			_, words, _ := strings.Cut(reply, " ")
			remember(2, memory.RoleAgent, string(assistant.NegotiateMeeting), words)
			return reply
		}
		o.want(send("shall we meet for 45 minutes?"), "INPUT_REQUIRED When would suit you?")
		o.want(send("on 2000-01-08 10:00"), "INPUT_REQUIRED That does not work. How about 2000-01-10 09:00 (UTC), for 45 minutes?")
		forget()
		o.want(send("no"), "INPUT_REQUIRED That does not work. How about 2000-01-10 09:15 (UTC), for 45 minutes?")
		forget()
		o.want(send("yes"), "COMPLETED Agreed: 2000-01-10 09:15 to 10:00 (UTC).")
		forget()
		o.want(send("yes"), "INPUT_REQUIRED When would suit you?") // a new negotiation begins
		for range 10 {
			o.want(send("hm"), "INPUT_REQUIRED")
			forget()
		}
		o.want(send("hm"), "COMPLETED No time was found.") // the rounds count as well
		// Turns of another agent or another caller in the context are not part of it.
		o.want(o.meet("bob", "c", "yes"), "INPUT_REQUIRED When would suit you?")
	})
}

func TestNegotiationEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t)
		var last string
		n := 0
		for n < 50 && !strings.HasPrefix(last, "COMPLETED") {
			n++
			last = o.meet("ann", "c", "whatever")
		}
		if n != 12 || last != "COMPLETED No time was found." {
			t.Errorf("after %d rounds: %q", n, last)
		}
		for _, text := range []string{"1999-01-04 10:00", "2030-01-07 10:00", "2000-13-45 99:99", "2000-01-03 10:00 for 999 hours", strings.Repeat("2000-01-03 23:00 ", 10000)} {
			if got := o.meet("eve", "d"+text[:9], text); strings.Contains(got, "Agreed") {
				t.Errorf("%.40q: %s", text, got)
			}
		}
	})
}

// TestMeetingsNeverOverlap sends many concurrent requests for the same times.
func TestMeetingsNeverOverlap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t)
		executor := o.desk.Agents()[2].Executor
		var mu sync.Mutex
		agreed := map[string]int{}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				id := a2a.TaskID(fmt.Sprint(i))
				ctx := auth.WithPrincipal(t.Context(), &auth.Principal{ID: "ann"})
				ctx = agent.WithCall(ctx, &agent.Call{Key: string(id) + "/1"})
				text := fmt.Sprintf("2000-01-03 %02d:00", 9+i%8)
				ec := &a2asrv.ExecutorContext{TaskID: id, ContextID: string(id), Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
				for ev := range executor.Execute(ctx, ec) {
					if ev, ok := ev.(*a2a.TaskStatusUpdateEvent); ok && ev.Status.State == a2a.TaskStateCompleted {
						mu.Lock()
						agreed[agent.Text(ev.Status.Message)]++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		if len(agreed) != 8 {
			t.Errorf("agreed: %v, want eight meetings", agreed)
		}
		for text, n := range agreed {
			if n != 1 {
				t.Errorf("%s, %d times", text, n)
			}
		}
	})
}

func TestNotifyUser(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	o.want(o.ask(assistant.NotifyUser, "ann", "c", " the build is broken "), "COMPLETED It is in the inbox")
	o.want(o.repeat(assistant.NotifyUser, "ann", "c", " the build is broken "), "COMPLETED")
	o.want(o.ask(assistant.NotifyUser, "ann", "c", " "), "REJECTED The message has no text")
	items, err := o.desk.Inbox.List(t.Context(), new(inbox.Query))
	if err != nil || len(items) != 1 || items[0].Text != "ann says:\n\nthe build is broken" || items[0].Kind != inbox.Notice {
		t.Errorf("inbox = %+v, %v", items, err)
	}
}

func TestAvailability(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, busy := newFixture(t), false
		o.want(o.ask(assistant.QueryAvailability, "ann", "c", "there?"), "COMPLETED The person is away.")
		a := &assistant.Activity{Busy: func(context.Context) bool { return busy }}
		o.desk.Presence = a.Presence
		var got []string
		look := func() {
			got = append(got, o.ask(assistant.QueryAvailability, "ann", "c", "there?"))
		}
		look()
		a.Touch()
		look()
		busy = true
		look()
		busy = false
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		look()
		time.Sleep(8 * time.Hour)
		synctest.Wait()
		busy = true
		look()
		var want []string
		for _, p := range []assistant.Presence{assistant.Away, assistant.Available, assistant.Busy, assistant.Delayed, assistant.Away} {
			want = append(want, "COMPLETED The person is "+string(p)+".")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("availability (-want +got):\n%s", diff)
		}
	})
}

// brokenNotes fails on every call.
type brokenNotes struct{ *dirstore.Memory }

func (brokenNotes) PutNote(context.Context, string, []byte) error { return errors.New("disk") }

func TestNothingIsAgreedThatIsNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t)
		o.desk.Notes = brokenNotes{o.notes}
		o.want(o.meet("ann", "c", "2000-01-03 10:00"), "error: disk")
	})
}

func FuzzNegotiation(f *testing.F) {
	f.Add("2000-01-03 10:00 for 45 minutes")
	f.Add("yes")
	f.Fuzz(func(t *testing.T, text string) {
		o := newFixture(t)
		for range 2 {
			if got := o.meet("ann", "c", text); got == "" || strings.HasPrefix(got, "error") {
				t.Errorf("%q: %s", text, got)
			}
		}
	})
}
