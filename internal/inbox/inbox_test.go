package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/inbox"
)

// run runs an inbox until the test ends or stop is called.
func run(t *testing.T, b *inbox.Inbox) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

func put(t *testing.T, b *inbox.Inbox, it inbox.Item) inbox.Item {
	t.Helper()
	got, err := b.Put(t.Context(), &it)
	if err != nil {
		t.Fatalf("Put(%s): %v", it.ID, err)
	}
	return got
}

func approval(id inbox.ID) inbox.Item {
	return inbox.Item{ID: id, Kind: inbox.Approval, Text: "may I?"}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	ids := map[inbox.ID]bool{
		inbox.IDOf("ann", "t", 1): true, inbox.IDOf("bob", "t", 1): true, inbox.IDOf("ann", "u", 1): true, inbox.IDOf("ann", "t", 2): true,
		inbox.IDOf("a", `n" "t`, 1): true,
	}
	if len(ids) != 5 || !ids[inbox.IDOf("ann", "t", 1)] {
		t.Errorf("ids = %v, want one for each version of each owner's task, and always the same", ids)
	}
}

func TestOneAnswerWins(t *testing.T) {
	t.Parallel()
	b := new(inbox.Inbox)
	put(t, b, inbox.Item{ID: "q", Kind: inbox.Question})
	var won atomic.Int32
	var received sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		by := fmt.Sprint("person-", i)
		all.Go(func() {
			got, err := b.Answer(t.Context(), "q", by, "mine")
			var first *inbox.Settled
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &first) && strings.Contains(err.Error(), "answered by person-"):
				got = first.Item
			default:
				t.Errorf("Answer: %v", err)
			}
			received.Store(got.By, true)
		})
	}
	all.Wait()
	n := 0
	received.Range(func(any, any) bool { n++; return true })
	if won.Load() != 1 || n != 1 {
		t.Errorf("%d answers have won and %d persons are named, want one of each", won.Load(), n)
	}
}

func TestSettlementsThatFitTheKind(t *testing.T) {
	t.Parallel()
	b, ctx := new(inbox.Inbox), t.Context()
	put(t, b, inbox.Item{ID: "question", Kind: inbox.Question})
	put(t, b, inbox.Item{ID: "drafted", Kind: inbox.Question, Draft: "blue"})
	put(t, b, approval("approval"))
	put(t, b, inbox.Item{ID: "notice", Kind: inbox.Notice})
	for name, do := range map[string]func() (inbox.Item, error){
		"answer an approval":              func() (inbox.Item, error) { return b.Answer(ctx, "approval", "me", "yes") },
		"answer a notice":                 func() (inbox.Item, error) { return b.Answer(ctx, "notice", "me", "yes") },
		"refuse a notice":                 func() (inbox.Item, error) { return b.Refuse(ctx, "notice", "me", "") },
		"answer with nothing":             func() (inbox.Item, error) { return b.Answer(ctx, "question", "me", "") },
		"approve without a draft":         func() (inbox.Item, error) { return b.Approve(ctx, "question", "me", "") },
		"approve a draft and say another": func() (inbox.Item, error) { return b.Approve(ctx, "drafted", "me", "red") },
		"answer too much": func() (inbox.Item, error) {
			return b.Answer(ctx, "question", "me", strings.Repeat("x", inbox.MaxAnswer+1))
		},
	} {
		if _, err := do(); !errors.Is(err, inbox.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if got, err := b.Approve(ctx, "drafted", "me", ""); err != nil || got.State != inbox.Answered || got.Answer != "blue" {
		t.Errorf("to approve a draft = %s %q, %v; want it for the answer", got.State, got.Answer, err)
	}
	if got, err := b.Refuse(ctx, "question", "me", "no idea"); err != nil || got.State != inbox.Refused {
		t.Errorf("to refuse a question = %s, %v", got.State, err)
	}
	for _, id := range []inbox.ID{"none", ""} {
		if _, err := b.Approve(ctx, id, "me", ""); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("Approve(%q): %v, want ErrNotFound", id, err)
		}
	}
	if err := errors.Join(b.Withdraw(ctx, "question", "x"), b.Withdraw(ctx, "none", "x"), b.Withdraw(ctx, "approval", "canceled")); err != nil {
		t.Errorf("Withdraw: %v", err)
	}
	if got, _ := b.Get(ctx, "approval"); got.State != inbox.Expired || got.Answer != "canceled" {
		t.Errorf("the withdrawn item is %s, %q", got.State, got.Answer)
	}
}

func TestPutAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := new(inbox.Inbox)
	first := put(t, b, approval("a"))
	if again := put(t, b, inbox.Item{ID: "a", Kind: inbox.Notice, Text: "other"}); !cmp.Equal(first, again) {
		t.Errorf("put again = %+v, want %+v", again, first)
	}
	want, err := b.Approve(t.Context(), "a", "me", "go on")
	if err != nil {
		t.Fatal(err)
	}
	if got := put(t, b, approval("a")); !cmp.Equal(want, got) {
		t.Errorf("put again after the approval = %+v, want %+v", got, want)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	got := put(t, new(inbox.Inbox), inbox.Item{ID: "a", Kind: inbox.Notice, Text: strings.Repeat("ä", inbox.MaxText), Caller: "bad \xff"})
	if len(got.Text) > inbox.MaxText || !strings.HasSuffix(got.Text, "ä…") || got.Caller != "bad \uFFFD" {
		t.Errorf("text of %d bytes ends with %q; caller %q", len(got.Text), got.Text[len(got.Text)-8:], got.Caller)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(inbox.Inbox)
		stop := run(t, b)
		put(t, b, approval("a"))
		put(t, b, approval("b"))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if got, err := b.Wait(t.Context(), "a"); err != nil || got.State != inbox.Approved || got.By != "me" {
					t.Errorf("Wait = %s by %q, %v", got.State, got.By, err)
				}
			})
		}
		all.Go(func() {
			if _, err := b.Wait(t.Context(), "b"); !errors.Is(err, inbox.ErrClosed) {
				t.Errorf("Wait when the inbox stops: %v, want ErrClosed", err)
			}
		})
		synctest.Wait()
		if _, err := b.Approve(t.Context(), "a", "me", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		all.Wait()
		if got, err := b.Wait(t.Context(), "a"); err != nil || got.State != inbox.Approved {
			t.Errorf("Wait for a settled item = %s, %v", got.State, err)
		}
		if _, err := b.Wait(t.Context(), "b"); !errors.Is(err, inbox.ErrClosed) {
			t.Errorf("Wait after the inbox has stopped: %v, want ErrClosed", err)
		}
		if _, err := b.Wait(t.Context(), "none"); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("Wait for nothing: %v, want ErrNotFound", err)
		}
	})
}

func TestItemsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &inbox.Inbox{Retention: 24 * time.Hour}
		run(t, b)
		late, soon := approval("late"), approval("soon")
		late.Expires, soon.Expires = time.Now().Add(3*time.Hour), time.Now().Add(time.Minute)
		put(t, b, late)
		synctest.Wait()
		put(t, b, soon)
		time.Sleep(time.Minute - time.Millisecond)
		synctest.Wait()
		if got, _ := b.Get(t.Context(), "soon"); got.State != inbox.Open {
			t.Errorf("before its time the item is %s", got.State)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got, err := b.Wait(t.Context(), "soon"); got.State != inbox.Expired || err != nil {
			t.Errorf("at its time the item is %s, %v", got.State, err)
		}
		_, err := b.Approve(t.Context(), "soon", "me", "")
		if !errors.Is(err, inbox.ErrSettled) || !strings.Contains(err.Error(), "expired at") {
			t.Errorf("Approve after its time: %v", err)
		}
		if got, _ := b.Get(t.Context(), "late"); got.State != inbox.Open {
			t.Errorf("the later item is %s", got.State)
		}
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		for _, id := range []inbox.ID{"soon", "late"} {
			if got, err := b.Get(t.Context(), id); !errors.Is(err, inbox.ErrNotFound) {
				t.Errorf("after its retention the item %s is there: %s, %v", id, got.State, err)
			}
		}
	})
}

// Without Run, a settlement that comes too late expires the item.
func TestLateWithoutRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, it := new(inbox.Inbox), approval("a")
		it.Expires = time.Now().Add(time.Minute)
		put(t, b, it)
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := b.Approve(t.Context(), "a", "me", ""); !errors.Is(err, inbox.ErrSettled) {
			t.Errorf("Approve after its time: %v, want ErrSettled", err)
		}
		if got, _ := b.Get(t.Context(), "a"); got.State != inbox.Expired {
			t.Errorf("the item is %s, want expired", got.State)
		}
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(inbox.Inbox)
		stop := run(t, b)
		put(t, b, approval("before"))
		events := b.Watch(t.Context())
		put(t, b, approval("a"))
		put(t, b, approval("a"))
		if _, err := b.Refuse(t.Context(), "a", "me", "no"); err != nil {
			t.Fatal(err)
		}
		slow := b.Watch(t.Context())
		stop()
		var got []string
		for it, err := range events {
			if err != nil {
				got = append(got, err.Error())
				break
			}
			got = append(got, fmt.Sprint(it.ID, " ", it.State))
		}
		if diff := cmp.Diff([]string{"a open", "a refused", inbox.ErrClosed.Error()}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		for _, err := range slow {
			if !errors.Is(err, inbox.ErrClosed) {
				t.Errorf("the second watcher gets %v", err)
			}
		}
	})
}

func TestSlowWatcherIsCutOff(t *testing.T) {
	t.Parallel()
	b := new(inbox.Inbox)
	events := b.Watch(t.Context())
	for i := range 1001 {
		put(t, b, approval(inbox.ID(fmt.Sprint(i))))
	}
	n := 0
	for _, err := range events {
		if n++; !errors.Is(err, inbox.ErrBehind) {
			t.Errorf("the watcher gets %v, want ErrBehind", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range b.Watch(ctx) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("the watcher gets %v, want the cause of its context", err)
		}
	}
	if n != 2 {
		t.Errorf("%d errors, want one for each watcher", n)
	}
}

// broken is a store that fails while err is set.
type broken struct {
	inbox.Memory
	err atomic.Pointer[error]
}

func (b *broken) SettleItem(ctx context.Context, id inbox.ID, s *inbox.Settlement) (inbox.Item, error) {
	if err := b.err.Load(); err != nil {
		_, _ = b.Memory.SettleItem(ctx, id, s) // the change is stored, but the caller gets an error
		return inbox.Item{}, *err
	}
	return b.Memory.SettleItem(ctx, id, s)
}

// Wait returns an answer that was stored although the store reported an error.
func TestUnknownOutcomeWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, disk := new(broken), errors.New("disk")
		b := &inbox.Inbox{Store: store}
		put(t, b, approval("a"))
		var all sync.WaitGroup
		all.Go(func() {
			if got, err := b.Wait(t.Context(), "a"); err != nil || got.State != inbox.Approved {
				t.Errorf("Wait = %s, %v", got.State, err)
			}
		})
		synctest.Wait()
		store.err.Store(&disk)
		if _, err := b.Approve(t.Context(), "a", "me", ""); !errors.Is(err, disk) {
			t.Errorf("Approve: %v, want the error of the store", err)
		}
		all.Wait()
	})
}

// TestModel compares the inbox with a simple model, step by step.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, model, ctx := new(inbox.Inbox), map[inbox.ID]inbox.Item{}, context.Background()
		id := rapid.Custom(func(t *rapid.T) inbox.ID { return inbox.ID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")) })
		settle := func(t *rapid.T, id inbox.ID, want inbox.State, got inbox.Item, err error) {
			old, there := model[id]
			switch {
			case !there && errors.Is(err, inbox.ErrNotFound):
			case there && old.State != inbox.Open && errors.Is(err, inbox.ErrSettled):
			case there && old.State == inbox.Open && err == nil && got.State == want:
				model[id] = got
			default:
				t.Fatalf("settle %s, which is %q, as %s: %s, %v", id, old.State, want, got.State, err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				it := approval(id.Draw(t, "item"))
				got, err := b.Put(ctx, &it)
				if err != nil {
					t.Fatal(err)
				}
				if old, there := model[it.ID]; there && !cmp.Equal(old, got) {
					t.Fatalf("put again: %s", cmp.Diff(old, got))
				}
				model[it.ID] = got
			},
			"approve": func(t *rapid.T) {
				id := id.Draw(t, "item")
				got, err := b.Approve(ctx, id, "ann", "")
				settle(t, id, inbox.Approved, got, err)
			},
			"refuse": func(t *rapid.T) {
				id := id.Draw(t, "item")
				got, err := b.Refuse(ctx, id, "bob", "no")
				settle(t, id, inbox.Refused, got, err)
			},
			"": func(t *rapid.T) {
				all, err := b.List(ctx, new(inbox.Query))
				if err != nil || len(all) != len(model) {
					t.Fatalf("%d items, %v; want %d", len(all), err, len(model))
				}
				for _, it := range all {
					if diff := cmp.Diff(model[it.ID], it); diff != "" {
						t.Fatalf("item %s (-want +got):\n%s", it.ID, diff)
					}
				}
			},
		})
	})
}
