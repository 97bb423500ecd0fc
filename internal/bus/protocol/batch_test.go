package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

func confirmation(n int64) *bus.Envelope {
	return &bus.Envelope{
		ID: fmt.Sprint("c-", n), Type: protocol.TypeConfirm, Time: 1, Source: "hub/h", Destination: "worker/w", ReplyTo: "hub.control.h",
		Correlation: "order", Task: "t", Owner: "o", Epoch: 2, Seq: n, Trace: map[string]string{"traceparent": "x"},
		Body: json.RawMessage(`{"final":true}`),
	}
}

// Joined envelopes are unchanged after Split, except for their ids and signatures.
func TestBatch(t *testing.T) {
	t.Parallel()
	all := []*bus.Envelope{confirmation(1), confirmation(2), confirmation(3)}
	joined, err := protocol.Join(all)
	if err != nil {
		t.Fatal(err)
	}
	if joined.Type != protocol.TypeBatch || joined.Source != "hub/h" || joined.Destination != "worker/w" || joined.ReplyTo != "hub.control.h" {
		t.Errorf("Join = %+v", joined)
	}
	got, err := protocol.Split(joined)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		e.ID = "c-1"
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("Split(Join) mismatch (-want +got):\n%s", diff)
	}
}

func TestBatchOfOne(t *testing.T) {
	t.Parallel()
	one := confirmation(1)
	joined, err := protocol.Join([]*bus.Envelope{one})
	if err != nil || joined != one {
		t.Errorf("Join of one = %+v, %v, want it unchanged", joined, err)
	}
	if got, err := protocol.Split(one); err != nil || len(got) != 1 || got[0] != one {
		t.Errorf("Split of no batch = %v, %v, want it unchanged", got, err)
	}
}

func TestBadBatch(t *testing.T) {
	t.Parallel()
	many := `{"envelopes":[` + strings.Repeat(`{"type":"job.cancel"},`, protocol.MaxBatch) + `{"type":"job.cancel"}]}`
	for body, want := range map[string]string{
		`{"envelopes":[{"type":"job.cancel"},{"type":"job.batch"}]}`: `envelope 1 has type "job.batch"`,
		`{"envelopes":[{"type":"job.cancel"},{"epoch":"x"}]}`:        "envelope 1: ",
		`{"envelopes":[{"body":{}}]}`:                                `envelope 0 has type ""`,
		`{"envelopes":7}`:                                            "decode batch",
		many:                                                         "65 envelopes, 64 are allowed",
	} {
		e := &bus.Envelope{ID: "b", Type: protocol.TypeBatch, Source: "hub/h", Body: json.RawMessage(body)}
		good := 0
		if strings.HasPrefix(body, `{"envelopes":[{"type":"job.cancel"},{`) && body != many {
			good = 1
		}
		if got, err := protocol.Split(e); !errors.Is(err, bus.ErrInvalid) || !strings.Contains(err.Error(), want) || len(got) != good {
			t.Errorf("Split(%.80s) = %d, %v, want %d, ErrInvalid and %q", body, len(got), err, good, want)
		}
	}
}

// The largest batch fits into an envelope, and so into the limits of brokers.
func TestLargestBatchFits(t *testing.T) {
	t.Parallel()
	all := make([]*bus.Envelope, protocol.MaxBatch)
	for i := range all {
		all[i] = confirmation(int64(i))
		all[i].Body = json.RawMessage(`"` + strings.Repeat("x", protocol.MaxBatched-2) + `"`)
	}
	joined, err := protocol.Join(all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joined.Encode(); err != nil {
		t.Error(err)
	}
}
