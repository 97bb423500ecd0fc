package grpcbind

import (
	"fmt"
	"math"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/task"
)

var discard = protojson.UnmarshalOptions{DiscardUnknown: true}

// frames are StreamResponses of all kinds with all fields.
var frames = []string{
	`{"message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"\u00e4\n\"<"}],"metadata":{"a":{"b":[1,null,"x",true,{}]}},"extensions":["urn:a","urn:b"],"referenceTaskIds":["r"]}}`,
	`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"url":"https://e"}]},"timestamp":"2026-03-12T09:05:00.120Z"},"artifacts":[{"artifactId":"a","name":"n","description":"d","parts":[{"raw":"AAH/","filename":"f","mediaType":"image/png"}],"metadata":{},"extensions":["urn:a"]}],"history":[{"messageId":"h","role":"ROLE_USER","parts":[{"data":null},{"data":[-1.5e3,{"k":false}]}]}],"metadata":{"x":"y"}}}`,
	`{"task":{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
	`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-03-12T09:05:00.000Z"},"metadata":{"m":1}}}`,
	`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":""}],"unknown":{"deep":1}},"append":true,"lastChunk":true,"metadata":{"m":[]}}}`,
}

func TestFramesAreReadLikeProtoJSON(t *testing.T) {
	t.Parallel()
	for _, frame := range frames {
		want := new(pb.StreamResponse)
		if err := discard.Unmarshal([]byte(frame), want); err != nil {
			t.Fatalf("protojson refuses %s: %v", frame, err)
		}
		var r reader
		got := r.frame([]byte(frame))
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || r.err != nil {
			t.Errorf("frame(%s): error %v, mismatch (-protojson +got):\n%s", frame, r.err, diff)
		}
	}
}

// TestEveryState reads each state under its own name.
func TestEveryState(t *testing.T) {
	t.Parallel()
	for s := task.Submitted; s.Valid(); s++ {
		var r reader
		got := r.status([]byte(`{"state":"` + s.String() + `"}`))
		if int(got.GetState()) != int(s) || got.GetState().String() != s.String() {
			t.Errorf("status of %v has state %v", s, got.GetState())
		}
	}
}

// TestFreeJSON decodes values that protojson refuses.
func TestFreeJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]any{
		`9007199254740993`:            float64(1 << 53),
		`1e999`:                       math.MaxFloat64,
		`-1e999`:                      -math.MaxFloat64,
		`1e-999`:                      0.0,
		`{"a":1,"a":2}`:               map[string]any{"a": 2.0},
		`[{"k":null},"\ud83d\ude00"]`: []any{map[string]any{"k": nil}, "😀"},
	} {
		if diff := cmp.Diff(want, value([]byte(in)).AsInterface()); diff != "" {
			t.Errorf("value(%s) mismatch (-want +got):\n%s", in, diff)
		}
	}
}

// TestDamagedLog checks that damage is an error and not another task.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{
		`{}`,
		`{"message":{"parts":[{"raw":"?"}]}}`,
		`{"statusUpdate":{"status":{"timestamp":"yesterday"}}}`,
	} {
		var r reader
		if r.frame([]byte(frame)); r.err == nil {
			t.Errorf("frame(%s) gives no error", frame)
		}
	}
}

// FuzzReader compares the reader with protojson on the output of the canonicaliser.
func FuzzReader(f *testing.F) {
	for _, frame := range frames {
		f.Add(strings.TrimSuffix(strings.TrimPrefix(frame, `{"message":`), "}"))
	}
	f.Add(`{"messageId":"m","role":1,"parts":[{"data":1e400},{"raw":"_-8"}],"x":{"a":1,"a":2}}`)
	f.Fuzz(func(t *testing.T, in string) {
		body, _, err := a2ajson.Message(nil, []byte(in), a2ajson.Options{})
		if err != nil {
			return
		}
		var r reader
		got := r.message(body)
		if r.err != nil {
			t.Fatalf("message(%s): %v", body, r.err)
		}
		if _, err := proto.Marshal(got); err != nil {
			t.Fatalf("message(%s) cannot be sent: %v", body, err)
		}
		want := new(pb.Message)
		if discard.Unmarshal(body, want) != nil {
			return // protojson refuses some free JSON that the reader must accept
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("message(%s) mismatch (-protojson +got):\n%s", body, diff)
		}
	})
}

func BenchmarkFrame(b *testing.B) {
	frame := []byte(`{"artifactUpdate":{"taskId":"019a","contextId":"019b","artifact":{"artifactId":"a","parts":[{"text":"` +
		strings.Repeat("x", 64) + `"}]},"append":true}}`)
	b.Run("reader", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var r reader
			r.frame(frame)
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := discard.Unmarshal(frame, new(pb.StreamResponse)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Example_largeNumbers shows the value that a client gets for a number that a double cannot
// represent.
func Example_largeNumbers() {
	fmt.Println(value([]byte(`9007199254740993`)).GetNumberValue())
	// Output: 9.007199254740992e+15
}
