package grpcbind_test

import (
	"testing"

	"github.com/parley-a2a/parley/grpcbind"
)

func BenchmarkSendMessage(b *testing.B) {
	h := start(b, grpcbind.Config{}, brief, nil)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := h.client.SendMessage(b.Context(), textRequest("hello")); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
