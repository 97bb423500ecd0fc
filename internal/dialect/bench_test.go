package dialect_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/dialect"
)

const typicalCall = `{"jsonrpc":"2.0","id":"42","method":"SendMessage","params":{"message":{"messageId":"01a1b2c3-0000-7000-8000-000000000001","role":"ROLE_USER","parts":[{"text":"What is the weather in Lisbon tomorrow, and should I take an umbrella?"}]},"configuration":{"historyLength":0},"metadata":{"skill":"weather"}}}`

func BenchmarkDecodeSend(b *testing.B) {
	in := []byte(typicalCall)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		c, err := dec.Call(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := dialect.Lookup(c.Method); err != nil {
			b.Fatal(err)
		}
		if _, err := dec.Send(c.Params); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeAnswer(b *testing.B) {
	a := answer(b, true)
	id := []byte(`"42"`)
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		e := dialect.NewEnvelope(id)
		out = e.Close(dialect.AppendSendResponse(e.Open(out[:0]), &a, dialect.RPC))
	}
}

func BenchmarkFrame(b *testing.B) {
	e := dialect.NewEnvelope([]byte(`"42"`))
	frame := []byte(`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":` + result + `,"append":true}}`)
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out = e.Append(out[:0], frame)
	}
}
