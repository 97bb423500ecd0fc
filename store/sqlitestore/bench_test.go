package sqlitestore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/task"
)

// BenchmarkLives measures whole lives of tasks: a create, and one append with working, artifact
// and completed, each durable before the next, by 64 callers.
func BenchmarkLives(b *testing.B) {
	for _, owners := range []int{1, 16, 1000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			db := openTest(b, filepath.Join(b.TempDir(), "db"), Options{})
			tasks := db.Tasks()
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range 64 {
				wg.Go(func() {
					for n := left.Add(-1); n >= 0; n = left.Add(-1) {
						live(b, tasks, task.Owner(fmt.Sprint(n%int64(owners))))
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lives/s")
		})
	}
}

// BenchmarkReads measures reading among 100,000 tasks.
func BenchmarkReads(b *testing.B) {
	db := openTest(b, filepath.Join(b.TempDir(), "db"), Options{})
	tasks := db.Tasks()
	heads := make([]task.Head, 100_000)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(heads)); n = next.Add(1) - 1 {
				heads[n] = live(b, tasks, task.Owner(fmt.Sprint(n%100)))
			}
		})
	}
	wg.Wait()
	random := func() *task.Head { return &heads[rand.IntN(len(heads))] }
	for name, read := range map[string]func(h *task.Head) error{
		"Head": func(h *task.Head) error {
			_, err := tasks.Head(b.Context(), h.Owner, h.ID)
			return err
		},
		"Read": func(h *task.Head) error {
			_, err := tasks.Read(b.Context(), h.Key, 0)
			return err
		},
		"List": func(h *task.Head) error {
			_, err := tasks.List(b.Context(), &task.Query{Owner: h.Owner, Limit: 50})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(random()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var (
	benchMessage  = []byte(`{"role":"ROLE_USER","messageId":"m","parts":[{"text":"` + strings.Repeat("a", 200) + `"}]}`)
	benchCall     = []byte(`{"principal":"p","params":{"a2a-version":["1.0"]}}`)
	benchArtifact = []byte(`{"artifactId":"a","parts":[{"text":"` + strings.Repeat("b", 300) + `"}]}`)
	benchAnswer   = []byte(`{"role":"ROLE_AGENT","messageId":"n","parts":[{"text":"` + strings.Repeat("c", 100) + `"}]}`)
)

// live creates a task and finishes it.
func live(tb testing.TB, tasks Tasks, owner task.Owner) task.Head {
	at := task.MillisOf(time.Now())
	h := task.Head{
		ID:        a2a.TaskID(uuid.Must(uuid.NewV7()).String()),
		ContextID: uuid.Must(uuid.NewV7()).String(),
		Owner:     owner,
		Agent:     "echo",
	}
	c := step(tb, h, task.Entry{Kind: task.Created, State: task.Submitted, At: at, Body: benchMessage, Call: benchCall})
	c.Next.Run = task.Run{Epoch: 1, Dispatch: task.Claimed, Holder: "hub-1", Attempt: 1}
	if err := tasks.Append(tb.Context(), c); err != nil {
		tb.Error(err)
		return h
	}
	at = task.MillisOf(time.Now())
	c = step(tb, c.Next,
		task.Entry{Kind: task.Status, State: task.Working, At: at, Epoch: 1, Seq: 1},
		task.Entry{Kind: task.Artifact, ArtifactID: "a", At: at, Epoch: 1, Seq: 2, Body: benchArtifact},
		task.Entry{Kind: task.Status, State: task.Completed, At: at, Epoch: 1, Seq: 3, Body: benchAnswer})
	if err := tasks.Append(tb.Context(), c); err != nil {
		tb.Error(err)
	}
	return c.Next
}
