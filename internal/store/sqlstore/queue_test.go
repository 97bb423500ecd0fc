package sqlstore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errClosed = errors.New("closed")

type testRequest struct{ size int }

func (r *testRequest) Bytes() int       { return r.size }
func (r *testRequest) Done() chan error { return nil }

func TestBatchesAreLimited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sizes []int
		want  []int
	}{
		"number":      {make([]int, 600), []int{256, 256, 88}},
		"bytes":       {[]int{3 << 20, 1 << 20, 1, 1}, []int{2, 2}},
		"one is more": {[]int{9 << 20, 9 << 20, 1}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := NewQueue[*testRequest](errClosed)
			var in []*testRequest
			for _, size := range tt.sizes {
				r := &testRequest{size: size}
				in = append(in, r)
				if err := q.put(r); err != nil {
					t.Fatal(err)
				}
			}
			q.Close()
			if err := q.put(&testRequest{}); !errors.Is(err, errClosed) {
				t.Errorf("put in a closed queue = %v, want errClosed", err)
			}
			var got []int
			var out []*testRequest
			for batch := q.Take(nil); len(batch) > 0; batch = q.Take(nil) {
				got = append(got, len(batch))
				out = append(out, batch...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("batches mismatch (-want +got):\n%s", diff)
			}
			for i := range in {
				if out[i] != in[i] {
					t.Fatalf("request %d is out of order", i)
				}
			}
		})
	}
}
