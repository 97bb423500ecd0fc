package audit

import (
	"path/filepath"
	"testing"
)

// BenchmarkAppend writes entries from concurrent callers.
func BenchmarkAppend(b *testing.B) {
	l := openTest(b, Options{Dir: filepath.Join(b.TempDir(), "audit")})
	r := added(1)
	r.Action = TaskSend
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := l.Append(r); err != nil {
				b.Error(err)
			}
		}
	})
}
