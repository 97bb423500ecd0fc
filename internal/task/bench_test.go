package task_test

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

func BenchmarkApply(b *testing.B) {
	h, _, _ := buildTask(b, created(hello), status(task.Working, ""))
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
	h, _, es := buildTask(b, created(hello), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
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
	_, _, es := buildTask(b, created(hello), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
		status(task.Completed, done))
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = task.AppendEntries(buf[:0], es)
	}
}

func BenchmarkDecodeEntries(b *testing.B) {
	_, _, es := buildTask(b, created(hello), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
		status(task.Completed, done))
	buf := task.AppendEntries(nil, es)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := task.DecodeEntries(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFold shows that the cost of a chunk does not depend on the number of earlier ones.
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
