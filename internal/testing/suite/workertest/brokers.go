package workertest

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/bus/natsbus/embedded"
)

// NATS starts the broker of a hub, for one worker.
func NATS(t *testing.T) *Broker {
	t.Helper()
	server, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	b, err := server.Open(t.Context(), natsbus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.Contact().URL, "://", "://secret@", 1)
	acks := make(chan struct{}, 1024)
	tap, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tap.Close)
	if _, err := tap.Subscribe("$JS.ACK.>", func(m *nats.Msg) {
		if strings.Contains(m.Subject, ".agent+task+"+Agent+".") && (len(m.Data) == 0 || string(m.Data) == "+ACK") {
			acks <- struct{}{}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := tap.Flush(); err != nil {
		t.Fatal(err)
	}
	return &Broker{Bus: b, URL: url, Acks: acks, Raw: func(t *testing.T, queue string, data []byte) {
		t.Helper()
		js, err := tap.JetStream()
		if err == nil {
			_, err = js.Publish("parley.queue."+queue, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}}
}
