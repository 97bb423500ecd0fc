package workertest

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// Agent is the name of the agent in the transcripts.
const Agent = "poet"

// Broker is a broker for one worker.
type Broker struct {
	// Bus is the connection of the hub. The suite closes it.
	Bus bus.Bus
	// URL is the address for the worker.
	URL string
	// Raw publishes bytes at a queue.
	Raw func(t *testing.T, queue string, data []byte)
	// Acks receives a value for each delivery that the worker acknowledges.
	Acks <-chan struct{}
}

// Running is a worker that runs.
type Running struct {
	// Stop sends the worker a SIGTERM, or cancels it.
	Stop func()
	// Ended waits for the end of the worker. The error is nil after an orderly end.
	Ended func() error
}

// Suite is a worker.
type Suite struct {
	// Brokers are the brokers by name; nil means the package's Brokers.
	Brokers map[string]func(t *testing.T) *Broker
	// Start starts a worker of Agent that trusts the hub of key alone.
	Start func(t *testing.T, url, key string) Running
	// Only are the names of the transcripts to run; nil means all.
	Only []string
}

// Run tests the worker with each transcript on each broker, in parallel.
func Run(t *testing.T, s Suite) {
	t.Helper()
	if s.Brokers == nil {
		s.Brokers = Brokers
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(root(t), "docs", "wire.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for on, broker := range s.Brokers {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			for name, steps := range transcripts(t) {
				if s.Only != nil && !slices.Contains(s.Only, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					newHub(t, s, broker(t), schema).perform(steps)
				})
			}
		})
	}
}

// patience is the time limit for one message of a worker.
const patience = 3 * time.Minute

// hubID is the id of the hub, whose key is that of the document.
const hubID = "7c1e"

// arrival is a message of the worker.
type arrival struct {
	kind string // the type of the envelope, or output
	// value is the envelope, or the output.
	value map[string]any
	// repeat is set for a claim, fetch or output that the worker has sent before.
	repeat bool
	dead   bool
}

// hub takes the part of the hub in one transcript.
type hub struct {
	t       *testing.T
	broker  *Broker
	schema  *jsonschema.Schema
	signer  *bus.Signer
	forger  *bus.Signer
	worker  Running
	stopped bool
	names   values
	content []byte
	tokens  map[string]bool // that the hub has granted
	// arrived has the messages of the worker in the order of their arrival, and waiting the parts of
	// the current one.
	arrived chan arrival
	waiting []arrival
	seen    map[string]bool
	// numbers has the last number of each run, and early the outputs above it that have arrived.
	numbers map[string]int
	early   map[string][]arrival
	whole   map[string][]byte
	acks    int
	sent    int
}

func newHub(t *testing.T, s Suite, b *Broker, schema *jsonschema.Schema) *hub {
	t.Helper()
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(i)
	}
	signer, err := bus.NewSigner(hubID, seed)
	if err != nil {
		t.Fatal(err)
	}
	forger, err := bus.NewSigner(hubID, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{
		t: t, broker: b, schema: schema, signer: signer, forger: forger, names: values{}, tokens: map[string]bool{},
		arrived: make(chan arrival, 1024), seen: map[string]bool{}, numbers: map[string]int{}, early: map[string][]arrival{}, whole: map[string][]byte{},
	}
	h.receive()
	h.worker = s.Start(t, h.broker.URL, signer.HubKey().String())
	return h
}

// receive starts to receive at all addresses to which a worker publishes.
func (h *hub) receive() {
	h.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	addresses := []bus.Address{protocol.ControlAt(hubID), protocol.ReportAt(hubID), protocol.Discovery, bus.Dead}
	ended, ready := make(chan struct{}, len(addresses)), make(chan struct{}, 16*len(addresses))
	for _, at := range addresses {
		go func() { // the cleanup waits for it
			defer func() { ended <- struct{}{} }()
			sub := bus.Subscription{At: at, Prefetch: 64, Ready: func() { ready <- struct{}{} }}
			for d, err := range h.broker.Bus.Receive(ctx, sub) {
				if err != nil {
					h.t.Errorf("receive at %s: %v", at, err)
					return
				}
				h.take(d)
				if err := d.Ack(ctx); err != nil && ctx.Err() == nil {
					h.t.Errorf("acknowledge at %s: %v", at, err)
				}
			}
		}()
	}
	h.t.Cleanup(func() {
		stop()
		for range addresses {
			<-ended
		}
		if err := h.broker.Bus.Close(); err != nil {
			h.t.Errorf("close the bus: %v", err)
		}
	})
	for range addresses {
		<-ready
	}
}

// take splits a message of the worker into its parts.
func (h *hub) take(d *bus.Delivery) {
	all, err := protocol.Split(d.Envelope)
	if err != nil {
		h.t.Errorf("split %s: %v", d.ID, err)
	}
	for _, e := range all {
		text, err := json.Marshal(e)
		if err != nil {
			h.t.Errorf("encode %s: %v", e.ID, err)
			continue
		}
		v := map[string]any{}
		if err := json.Unmarshal(text, &v); err != nil {
			h.t.Errorf("decode %s: %v", text, err)
			continue
		}
		if d.At == bus.Dead {
			h.arrived <- arrival{kind: string(e.Type), value: v, dead: true}
			continue
		}
		if e.ID != "" { // not one of a batch
			h.validate(text)
		}
		h.arrived <- arrival{kind: string(e.Type), value: v}
	}
}

// validate compares an envelope with the published schema.
func (h *hub) validate(text []byte) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = h.schema.Validate(v)
	}
	if err != nil {
		h.t.Errorf("the worker has sent %s, which the schema refuses: %v", text, err)
	}
}
