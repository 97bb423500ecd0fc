package hub

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// BenchmarkAuditedSend sends messages that wait for their tasks, with the store of a hub. It
// measures one caller and 64 concurrent callers, without an audit log and with one.
func BenchmarkAuditedSend(b *testing.B) {
	for _, callers := range []int{1, 64} {
		for _, level := range []audit.Level{audit.Off, audit.Tasks} {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, level), func(b *testing.B) { benchmarkSend(b, callers, level) })
		}
	}
}

func benchmarkSend(b *testing.B, callers int, level audit.Level) {
	dir := b.TempDir()
	db, err := sqlitestore.Open(filepath.Join(dir, "parley.db"), sqlitestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	cfg := engine.Config{Store: db.Tasks()}
	if level != audit.Off {
		log, err := audit.Open(audit.Options{Dir: filepath.Join(dir, "audit"), Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Level: level})
		if err != nil {
			b.Fatal(err)
		}
		defer log.Close()
		cfg.Auditor = taskAuditor{log}
	}
	if cfg.Store == nil {
		cfg.Store = new(memstore.Store)
	}
	e := engine.New(cfg)
	echo := builtin.Agents()[0]
	if err := e.Register(engine.Agent{Name: echo.Name, Card: echo.Card, Executor: echo.Executor}); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }() // waited for below
	defer func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}()
	<-e.Recovered()
	c := &op.Caller{Principal: &auth.Principal{ID: "ann", Via: "key:k"}, From: "192.0.2.1:40000"}
	body, _ := json.Marshal(map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]string{"text": "hi"}}})
	b.SetParallelism(max(1, callers/2)) // of two processors
	b.ReportAllocs()
	send := func() {
		r := &op.Send{Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: body}}
		if _, err := e.Send(ctx, c, r); err != nil {
			b.Error(err)
		}
	}
	if callers == 1 {
		for b.Loop() {
			send()
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			send()
		}
	})
}
