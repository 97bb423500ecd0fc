package bus

import (
	"encoding/json"
	"testing"

	"github.com/parley-a2a/parley/auth"
)

// workEnvelope returns work as hubs publish it.
func workEnvelope() *Envelope {
	return &Envelope{
		ID: "work-5f0f7b439d1c0c6f1e5a7d110198c7a1", Type: "job.work", Time: 1764000000000, Source: "hub/7c1e", Destination: "agent/poet",
		ReplyTo: "hub.control.7c1e", Correlation: "0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11", Task: "0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11", Owner: "local",
		Deadline: 1764000300000, Chain: []string{"poet@b2d1"}, Principal: &auth.Principal{ID: "local", DisplayName: "local"}, Label: "caller",
		Trace: map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Body: json.RawMessage(`{"agent":"poet","delivery":1,"key":"0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11/1","attempt":1,"hops":7,"budget":50,` +
			`"contextId":"0198c7a1-5f0f-71aa-8f7e-5f9f6d1f2c33","message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"a haiku on the sea, please, ` +
			`and some more words that make it as long as messages are"}]},"reports":"hub.report.7c1e","batches":true}`),
	}
}

func BenchmarkEnvelope(b *testing.B) {
	s, err := NewSigner("7c1e", nil)
	if err != nil {
		b.Fatal(err)
	}
	keys, err := NewKeyring(s.HubKey())
	if err != nil {
		b.Fatal(err)
	}
	e := workEnvelope()
	if err := s.Sign(e); err != nil {
		b.Fatal(err)
	}
	text, err := e.Encode()
	if err != nil {
		b.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"Encode": func() error { _, err := e.Encode(); return err },
		"Decode": func() error { _, err := Decode(text); return err },
		"Form":   func() error { _, err := e.form(); return err },
		"Sign":   func() error { return s.Sign(e) },
		"Verify": func() error { return keys.Verify(e) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
