package grpcbind

import (
	"math"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// TestFillIsLikeProtoJSON checks that fill decodes the messages of v0.3 like protojson.
func TestFillIsLikeProtoJSON(t *testing.T) {
	t.Parallel()
	for _, v1 := range frames {
		b := dialect.V03Proto.Frames(nil)([]byte(v1))[0]
		got, err := filled(new(pb0.StreamResponse), b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		want := new(pb0.StreamResponse)
		if err := discard.Unmarshal(withParts(b), want); err != nil {
			t.Fatalf("protojson refuses %s: %v", b, err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("fill(%s) mismatch (-protojson +got):\n%s", b, diff)
		}
	}
}

// withParts renames the content of messages to the name in the generated messages.
func withParts(b []byte) []byte {
	var out []byte
	switch rawjson.KindOf(b) {
	case rawjson.Object:
		out = append(out, '{')
		for name, v := range rawjson.Fields(b) {
			if name == "content" {
				name = "parts"
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(rawjson.AppendString(out, name), ':'), withParts(v)...)
		}
		return append(out, '}')
	case rawjson.Array:
		out = append(out, '[')
		for v := range rawjson.Elements(b) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, withParts(v)...)
		}
		return append(out, ']')
	}
	return b
}

func TestFillTakesWhatTheLogMayHold(t *testing.T) {
	t.Parallel()
	got, err := filled(new(pb0.Task), []byte(`{"id":null,"unknown":[1],"id":"a","id":"t","metadata":{"n":1e999,"k":1,"k":2},`+
		`"status":{"state":"TASK_STATE_OF_TOMORROW","timestamp":"2026-01-02T03:04:05.678Z"},"history":[{"content":[{"data":{"data":{"x":null}}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	meta := got.GetMetadata().AsMap()
	if got.GetId() != "t" || meta["n"] != math.MaxFloat64 || meta["k"] != 2.0 || got.GetStatus().GetTimestamp().GetNanos() != 678e6 ||
		got.GetStatus().GetState() != pb0.TaskState_TASK_STATE_UNSPECIFIED || len(got.GetHistory()[0].GetParts()) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestFillErrors(t *testing.T) {
	t.Parallel()
	for in, m := range map[string]proto.Message{
		`{"status":{"timestamp":"yesterday"}}`:                       new(pb0.Task),
		`{"history":[{"content":[{"file":{"fileWithBytes":"%"}}]}]}`: new(pb0.Task),
		`{"totalSize":"many"}`:                                       new(pb0.ListTasksResponse),
		`{"totalSize":2147483648}`:                                   new(pb0.ListTasksResponse),
	} {
		if got, err := filled(m, []byte(in)); err == nil {
			t.Errorf("filled with %s = %v, want an error", in, got)
		}
	}
}

// FuzzFill fills messages from arbitrary JSON. The result must be encodable, except for invalid
// UTF-8.
func FuzzFill(f *testing.F) {
	for _, v1 := range frames {
		f.Add(dialect.V03Proto.Frames(nil)([]byte(v1))[0])
	}
	f.Add([]byte(`{"securitySchemes":{"a":{"apiKeySecurityScheme":{"name":"x"}}},"securityRequirements":[{"schemes":{"a":{"list":["x"]}}}],"security":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if rawjson.Check(b, 100) != nil {
			return
		}
		for _, m := range []proto.Message{new(pb0.StreamResponse), new(pb0.AgentCard), new(pb0.ListTaskPushNotificationConfigResponse)} {
			if _, err := filled(m, b); err != nil {
				continue
			}
			if _, err := proto.Marshal(m); err != nil {
				t.Errorf("%s becomes %v, which has no form: %v", b, m, err)
			}
		}
	})
}
