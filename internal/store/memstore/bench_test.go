package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// BenchmarkLife takes tasks through their whole lives in four appends each.
func BenchmarkLife(b *testing.B) {
	var s memstore.Store
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		h := tasktest.NewHead("anna", a2a.TaskID(fmt.Sprint("task ", n)))
		h.ContextID = string(h.ID)
		for _, e := range []task.Entry{
			{Kind: task.Created, State: task.Submitted, At: task.Millis(n), Body: []byte(`{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}`)},
			{Kind: task.Status, State: task.Working, At: task.Millis(n)},
			{Kind: task.Artifact, ArtifactID: "a", Body: []byte(`{"artifactId":"a","parts":[]}`), At: task.Millis(n)},
			{Kind: task.Status, State: task.Completed, At: task.Millis(n), Body: []byte(`{"messageId":"d1","role":"ROLE_AGENT","parts":[{"text":"done"}]}`)},
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

// BenchmarkChunks appends to one task.
func BenchmarkChunks(b *testing.B) {
	var s memstore.Store
	h := tasktest.Append(b, &s, tasktest.NewHead("anna", "t"), tasktest.Created(tasktest.At(0), "hello"))
	e := tasktest.Chunk(tasktest.At(1), "a", "word ")
	b.ReportAllocs()
	for b.Loop() {
		h = tasktest.Append(b, &s, h, e)
	}
}

// crowd returns a store of many tasks of 1,000 owners, of which the first has a tenth.
var crowd = sync.OnceValues(func() (*memstore.Store, error) {
	var s memstore.Store
	for i := range 1_000_000 {
		h := crowded(i)
		c, err := tasktest.Try(h,
			task.Entry{Kind: task.Created, State: task.Submitted, At: tasktest.At(int64(i)), Body: []byte(`{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}`)},
			task.Entry{Kind: task.Status, State: task.Completed, At: tasktest.At(int64(i))})
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

// BenchmarkMillion queries a store of a million tasks.
func BenchmarkMillion(b *testing.B) {
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
			q := &task.Query{Owner: "owner 0", Limit: 50, After: task.Cursor{At: tasktest.At(rand.Int64N(1_000_000)), Key: 1}}
			if _, err := s.List(ctx, q); err != nil {
				b.Fatal(err)
			}
		}
	})
}
