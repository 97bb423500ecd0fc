package webhooks

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/task"
)

// witness is the record that a receiver keeps of its webhooks. The text of each notification is
// its version.
type witness struct {
	mu   sync.Mutex
	mood int
	high map[string]int64
	seen map[string]map[int64]bool
	// wrong describes the first violation; empty if there was none.
	wrong string
}

// The moods of a receiver.
const (
	well = iota
	refuses
	breaks
	hangs
	resets
	loses // accepts a notification, but the response is lost
	moods
)

// answer handles a notification. It runs in a bubble.
func (w *witness) answer(r *http.Request, p *post) (int, error) {
	version, err := strconv.ParseInt(p.text, 10, 64)
	w.mu.Lock()
	mood := w.mood
	if high := max(w.high[p.url], 1); err != nil || version > high+1 {
		w.wrong = fmt.Sprintf("%s got %q after version %d", p.url, p.text, high)
	}
	w.high[p.url] = max(w.high[p.url], version)
	if mood == well || mood == loses {
		if w.seen[p.url] == nil {
			w.seen[p.url] = make(map[int64]bool)
		}
		w.seen[p.url][version] = true
	}
	w.mu.Unlock()
	switch mood {
	case refuses:
		return 404, nil
	case breaks:
		return 503, nil
	case hangs:
		<-r.Context().Done()
		return 0, r.Context().Err()
	case resets, loses:
		return 0, errBroken
	}
	return 200, nil
}

func (w *witness) set(mood int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mood = mood
}

// trial is one run of the property.
type trial struct {
	w    *world
	see  *witness
	jobs []*job
	refs []task.HookRef
	urls []string
}

// act is a random event, with a number that parametrises it.
type act struct{ what, how int }

func drawAct(t *rapid.T) act {
	return act{rapid.IntRange(0, 9).Draw(t, "what"), rapid.IntRange(0, 1<<16).Draw(t, "how")}
}

// step performs an act.
func (tr *trial) step(a act) {
	w := tr.w
	switch a.what {
	case 0, 1, 2:
		j := tr.jobs[a.how%len(tr.jobs)]
		for range 1 + a.how/8%5 {
			j.chunk(strconv.FormatInt(j.head.Version+1, 10))
		}
	case 3, 4:
		tr.see.set(a.how % moods)
	case 5, 6:
		w.pass(time.Duration(a.how) * time.Millisecond)
	case 7:
		w.store.fail(a.how%2 == 0)
	case 8:
		tr.restart(a.how%2 == 0)
	case 9:
		if w.stop != nil && len(tr.refs) > 0 {
			_, _ = w.d.Redeliver(w.t.Context(), tr.refs[a.how%len(tr.refs)]) // the store may be broken
		}
	}
}

// restart stops the dispatcher, with kill without time to save anything, or starts one.
func (tr *trial) restart(kill bool) {
	w := tr.w
	if w.stop == nil {
		w.start()
		return
	}
	w.store.mu.Lock()
	broken := w.store.broken
	w.store.broken = broken || kill
	w.store.mu.Unlock()
	w.halt()
	w.store.fail(broken)
}

// finish heals the world and lets all deliveries complete.
func (tr *trial) finish() {
	w := tr.w
	w.store.fail(false)
	tr.see.set(well)
	if w.stop == nil {
		w.start()
	}
	w.pass(time.Hour)
}

// TestNothingIsLost checks that every version is delivered at least once, in order, or is in a
// dead letter, whatever fails.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		hosts := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 1), 0, 2), 1, 3).Draw(rt, "hosts of the hooks of the tasks")
		acts := rapid.SliceOfN(rapid.Custom(drawAct), 0, 40).Draw(rt, "acts")
		wrong := ""
		synctest.Test(t, func(t *testing.T) { wrong = try(t, hosts, acts) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// try runs one trial in a bubble and returns the first violation, or "".
func try(t *testing.T, hosts [][]int, acts []act) string {
	see := &witness{high: make(map[string]int64), seen: make(map[string]map[int64]bool)}
	tr := &trial{w: newWorld(t), see: see}
	tr.w.net.answer = see.answer
	defer tr.w.halt()
	tr.w.start()
	for i, hooks := range hosts {
		j := tr.w.task(fmt.Sprint("t", i))
		tr.jobs = append(tr.jobs, j)
		for k, host := range hooks {
			url := fmt.Sprintf("https://h%d.example/%d/%d", host, i, k)
			tr.refs = append(tr.refs, j.hook(task.HookRequest{ID: fmt.Sprint("c", k), URL: url}))
			tr.urls = append(tr.urls, url)
		}
	}
	for _, a := range acts {
		tr.step(a)
	}
	tr.finish()
	wrong := see.wrong
	for i, ref := range tr.refs {
		wrong += tr.check(i, ref)
	}
	return wrong
}

// check looks for versions that were neither delivered nor recorded in a dead letter.
func (tr *trial) check(i int, ref task.HookRef) string {
	letters, err := tr.w.store.DeadLetters(tr.w.t.Context(), ref)
	if err != nil {
		return err.Error()
	}
	var last int64
	for _, j := range tr.jobs {
		if j.head.Key == ref.Task {
			last = j.head.Version
		}
	}
	for v := int64(2); v <= last; v++ {
		dead := slices.ContainsFunc(letters, func(l task.DeadLetter) bool { return l.First <= v && v <= l.Last })
		if !dead && !tr.see.seen[tr.urls[i]][v] {
			return fmt.Sprintf("%s did not get version %d of %d; dead letters: %s\n", tr.urls[i], v, last, tr.w.dead(ref))
		}
	}
	if got := tr.w.stored(ref).Position; got != last {
		return fmt.Sprintf("%s: stored position is %d, want %d\n", tr.urls[i], got, last)
	}
	return ""
}
