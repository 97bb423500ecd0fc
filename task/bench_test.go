package task_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/task/tasktest"
)

func BenchmarkApply(b *testing.B) {
	h, _, _ := story(b, created(hello), status(task.Working, ""))
	e := chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`)
	b.ReportAllocs()
	for b.Loop() {
		next, _, err := task.Apply(h, e)
		if err != nil {
			b.Fatal(err)
		}
		h = next
	}
}

func BenchmarkAppendFrame(b *testing.B) {
	h, _, es := story(b, created(hello), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
		status(task.Completed, done))
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = buf[:0]
		for i := range es {
			buf = task.AppendFrame(buf, &h, &es[i])
		}
	}
}

func BenchmarkAppendEntries(b *testing.B) {
	_, _, es := story(b, created(hello), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
		status(task.Completed, done))
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = task.AppendEntries(buf[:0], es)
	}
}

func BenchmarkDecodeEntries(b *testing.B) {
	_, _, es := story(b, created(hello), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
		status(task.Completed, done))
	buf := task.AppendEntries(nil, es)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := task.DecodeEntries(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFold shows that a chunk costs the same however many came before.
func BenchmarkFold(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := head()
			es := make([]task.Entry, 0, n)
			es = append(es, created(hello))
			for range n {
				es = append(es, chunk("a", `{"artifactId":"a","parts":[{"text":"sixty-four bytes of text, more or less, as models stream"}]}`))
			}
			for i := range es {
				es[i].Version = int64(i) + 1
			}
			b.ReportAllocs()
			for b.Loop() {
				f := task.Fold{}
				for i := range es {
					if err := f.Add(&es[i]); err != nil {
						b.Fatal(err)
					}
				}
				f.AppendTask(nil, &h, task.TaskOptions{Artifacts: true})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/chunk")
		})
	}
}

// BenchmarkMemoryLife takes tasks through their whole lives in four appends each.
func BenchmarkMemoryLife(b *testing.B) {
	var s task.Memory
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		h := tasktest.NewHead("anna", a2a.TaskID(fmt.Sprint("task ", n)))
		h.ContextID = string(h.ID)
		for _, e := range []task.Entry{
			{Kind: task.Created, State: task.Submitted, At: task.Millis(n), Body: []byte(hello)},
			{Kind: task.Status, State: task.Working, At: task.Millis(n)},
			{Kind: task.Artifact, ArtifactID: "a", Body: []byte(`{"artifactId":"a","parts":[]}`), At: task.Millis(n)},
			{Kind: task.Status, State: task.Completed, At: task.Millis(n), Body: []byte(done)},
		} {
			c, err := tasktest.Try(h, e)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Append(context.Background(), c); err != nil {
				b.Fatal(err)
			}
			h = c.Next
		}
	}
	b.ReportMetric(4*float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkMemoryChunks appends to one task.
func BenchmarkMemoryChunks(b *testing.B) {
	var s task.Memory
	h := tasktest.Append(b, &s, tasktest.NewHead("anna", "t"), tasktest.Created(at(0), "hello"))
	e := tasktest.Chunk(at(1), "a", "word ")
	b.ReportAllocs()
	for b.Loop() {
		h = tasktest.Append(b, &s, h, e)
	}
}

// crowd is a store of many tasks of 1,000 owners of which the first has a tenth.
var crowd = sync.OnceValues(func() (*task.Memory, error) {
	var s task.Memory
	for i := range 1_000_000 {
		h := crowded(i)
		c, err := tasktest.Try(h,
			task.Entry{Kind: task.Created, State: task.Submitted, At: at(int64(i)), Body: []byte(hello)},
			task.Entry{Kind: task.Status, State: task.Completed, At: at(int64(i))})
		if err != nil {
			return nil, err
		}
		if err := s.Append(context.Background(), c); err != nil {
			return nil, err
		}
	}
	return &s, nil
})

func crowded(i int) task.Head {
	owner := 0
	if i%10 != 0 {
		owner = i % 1000
	}
	h := tasktest.NewHead(task.Owner(fmt.Sprint("owner ", owner)), a2a.TaskID(fmt.Sprint("task ", i)))
	h.ContextID = fmt.Sprint("context ", i/3)
	return h
}

// BenchmarkMemoryMillion asks a store of a million tasks.
func BenchmarkMemoryMillion(b *testing.B) {
	s, err := crowd()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Run("Head", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h := crowded(rand.IntN(1_000_000))
			if _, err := s.Head(ctx, h.Owner, h.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("List", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			page, err := s.List(ctx, &task.Query{Owner: "owner 0", Limit: 50})
			if err != nil || page.Total != 100_000 {
				b.Fatal(page.Total, err)
			}
		}
	})
	b.Run("ListDeep", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q := &task.Query{Owner: "owner 0", Limit: 50, After: task.Cursor{At: at(rand.Int64N(1_000_000)), Key: 1}}
			if _, err := s.List(ctx, q); err != nil {
				b.Fatal(err)
			}
		}
	})
}
