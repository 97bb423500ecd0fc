package queue

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/session"
)

// grant is one that the state machine has made. Its worker has sent the numbers from 1 to claims.
type grant struct {
	epoch  int64
	token  string
	claims int
}

// ordering sends reports of all grants so far in any order, twice, and split, and restarts the
// hub in between. Only reports of the newest epoch count: their numbers are accepted from 1 on,
// in order, each once.
type ordering struct {
	state  dispatchState
	grants []*grant
	// took are the accepted numbers of the newest epoch.
	took []int64
}

func TestOrdering(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := &ordering{state: dispatchState{Key: "k", Delivery: 1}}
		o.claim(t)
		t.Repeat(map[string]func(*rapid.T){
			"":       o.check,
			"say":    o.sendEvent,
			"report": o.report,
			"forge":  o.forge,
			"stop":   o.redeliver,
			"lose":   o.lose,
			"claim":  o.claim,
		})
	})
}

func (o *ordering) claim(t *rapid.T) {
	if o.state.claimed() {
		t.Skip("a worker has the job")
	}
	token := rapid.StringMatching("[a-z]{8}").Draw(t, "token")
	o.state.claim("w", "n", token)
	o.grants, o.took = append(o.grants, &grant{epoch: o.state.Epoch, token: token}), nil
}

func (o *ordering) lose(t *rapid.T) {
	if !o.state.claimed() {
		t.Skip("no worker has the job")
	}
	delivery := o.state.Delivery
	o.state.release()
	if o.took = nil; o.state.claimed() || o.state.Delivery != delivery+1 {
		t.Fatalf("a job that is free is %+v", o.state)
	}
}

func (o *ordering) sendEvent(t *rapid.T) { rapid.SampledFrom(o.grants).Draw(t, "grant").claims++ }

// redeliver restarts the hub.
func (o *ordering) redeliver(t *rapid.T) {
	p, err := loadState(o.state.encode(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o.state, p); diff != "" {
		t.Fatalf("checkpoint (-want +got):\n%s", diff)
	}
	o.state = p
}

func (o *ordering) report(t *rapid.T) {
	g := rapid.SampledFrom(o.grants).Draw(t, "grant")
	if g.claims == 0 {
		t.Skip("it has sent nothing")
	}
	first := rapid.IntRange(1, g.claims).Draw(t, "first")
	n := rapid.IntRange(1, g.claims-first+1).Draw(t, "n")
	v, skip := o.state.classify(g.epoch, int64(first), n)
	newest := o.state.claimed() && g.epoch == o.state.Epoch
	switch {
	case !newest && v != session.Stale, newest && (v == session.Stale || !o.state.validToken(g.token)):
		t.Fatalf("a report of epoch %d is judged %d in epoch %d", g.epoch, v, o.state.Epoch)
	case v == session.Accept:
		for i := skip; i < n; i++ {
			o.state.Seq++
			o.took = append(o.took, int64(first+i))
		}
	case v == session.Repeated && int64(first+n-1) > o.state.Seq:
		t.Fatalf("the numbers %d to %d are known after %d", first, first+n-1, o.state.Seq)
	case v == session.Gap && int64(first) == o.state.Seq+1:
		t.Fatalf("%d is refused after %d", first, o.state.Seq)
	}
}

func (o *ordering) forge(t *rapid.T) {
	epoch := rapid.Int64Range(-1, o.state.Epoch+1).Draw(t, "epoch")
	first := rapid.Int64Range(-1, o.state.Seq+2).Draw(t, "first")
	token := rapid.SampledFrom([]string{"", "guess", string(o.state.Token)}).Draw(t, "token")
	if v, _ := o.state.classify(epoch, first, 3); v != session.Stale && o.state.validToken(token) {
		t.Fatalf("a forged report is judged %d", v)
	}
}

// check is called after each step.
func (o *ordering) check(t *rapid.T) {
	for i, n := range o.took {
		if n != int64(i+1) {
			t.Fatalf("the accepted numbers are %v", o.took)
		}
	}
	if o.state.claimed() && o.state.Seq != int64(len(o.took)) {
		t.Fatalf("%d were taken, and the last one is %d", len(o.took), o.state.Seq)
	}
}

// TestNextMessage begins anew with another message, and continues counting.
func TestNextMessage(t *testing.T) {
	t.Parallel()
	p := dispatchState{Key: "a", Delivery: 4}
	p.claim("w", "n", "t")
	p.Seq, p.Working, p.Disclosed = 7, true, true
	next, err := loadState(p.encode(), "b")
	if diff := cmp.Diff(dispatchState{Key: "b", Delivery: 5, Epoch: 1}, next); diff != "" || err != nil {
		t.Errorf("loadState: %v (-want +got):\n%s", err, diff)
	}
	if _, err := loadState([]byte("{"), "b"); err == nil {
		t.Error("half a checkpoint is fine")
	}
}

// TestFirstNameOfDisclosed reads the checkpoint of a task that was unfinished when disclosed was named told.
func TestFirstNameOfDisclosed(t *testing.T) {
	t.Parallel()
	got, err := loadState([]byte(`{"key":"a","delivery":2,"epoch":1,"worker":"w","working":true,"told":true}`), "a")
	if want := (dispatchState{Key: "a", Delivery: 2, Epoch: 1, Worker: "w", Working: true, Disclosed: true}); !cmp.Equal(want, got) || err != nil {
		t.Errorf("loadState = %+v, %v, want %+v", got, err, want)
	}
}

// A checkpoint has the JSON of encoding/json, member by member.
func TestDispatchStateEncoded(t *testing.T) {
	t.Parallel()
	whole := dispatchState{Ahead: 7}
	for f, v := range reflect.ValueOf(&whole).Elem().Fields() {
		one := dispatchState{Key: "k"}
		field := reflect.ValueOf(&one).Elem().FieldByIndex(f.Index)
		switch {
		case v.Kind() == reflect.Bool:
			field.SetBool(true)
		case v.CanInt():
			field.SetInt(3)
		case v.Kind() == reflect.String:
			field.SetString("é")
		default:
			field.SetBytes([]byte{1, 2})
		}
		v.Set(field)
		for _, p := range []*dispatchState{&one, &whole} {
			if want, err := json.Marshal(p); err != nil || string(p.encode()) != string(want) {
				t.Errorf("encode = %s, want %s, %v", p.encode(), want, err)
			}
		}
	}
	odd := dispatchState{Key: "\xff"}
	if want, err := json.Marshal(&odd); err != nil || string(odd.encode()) != string(want) {
		t.Errorf("encode = %s, want %s, %v", odd.encode(), want, err)
	}
}
