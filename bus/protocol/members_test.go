package protocol

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// decoders decode the bodies that have tables, with Decode and with encoding/json.
var decoders = map[string]func(text []byte) (got, want any, err, wantErr error){
	"work": both[Job], "offer": both[Offer], "claim": both[Claim], "grant": both[Grant], "report": both[Report], "confirm": both[Confirm],
	"beat": both[Heartbeat], "piece": both[Piece], "batch": both[Batch],
}

func both[T any](text []byte) (any, any, error, error) {
	got, want := new(T), new(T)
	err, wantErr := Decode(text, got), json.Unmarshal(text, want)
	return got, want, err, wantErr
}

// bodyTypes are those of decoders.
var bodyTypes = []any{new(Job), new(Offer), new(Claim), new(Grant), new(Report), new(Confirm), new(Heartbeat), new(Piece), new(Batch)}

// drawn sets v and all values reachable from it.
func drawn(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			if rapid.Bool().Draw(t, "set") {
				drawn(t, field)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		drawn(t, v.Elem())
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom([]string{"a", "é\u2028<", "\xff"}), rapid.String()).Draw(t, "text"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Map:
		v.Set(reflect.ValueOf(rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "map")))
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(rapid.SampledFrom([]string{`{"a":[1.0,null]}`, ` "x" `, "null", "", "{", "\"\xff\""}).Draw(t, "raw")))
			return
		}
		n := rapid.IntRange(0, 3).Draw(t, "n")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			drawn(t, v.Index(i))
		}
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	default:
		panic("a member of type " + v.Type().String())
	}
}

// Encoding without reflection gives the bytes of encoding/json, and decoding gives its results.
func TestBodiesAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := reflect.New(reflect.TypeOf(rapid.SampledFrom(bodyTypes).Draw(t, "type")).Elem())
		drawn(t, body.Elem())
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		wantErr := enc.Encode(body.Interface())
		want := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
		got, err := Encode(body.Interface())
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("Encode(%+v) = %s, %v\nwant %s, %v", body, got, err, want, wantErr)
		}
		if err == nil {
			sameDecoded(t, want)
		}
	})
}

// sameDecoded fails unless Decode and encoding/json agree about text, for every type of body.
func sameDecoded(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text []byte,
) {
	t.Helper()
	for name, decode := range decoders {
		got, want, err, wantErr := decode(text)
		if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("Decode(%s) as %s = %+v, %v\nwant %+v, %v", text, name, got, err, want, wantErr)
		}
	}
}

// spellings are texts that decoders disagree about.
var spellings = []string{
	`{}`, `null`, `[]`, ``, `{"worker":"a","worker":"b"}`, `{"worker":"a","WORKER":"b"}`, `{"worker":null,"nonce":1}`, `{"delivery":1.5}`,
	`{"delivery":"1"}`, `{"events":[null, {} ,"x"]}`, `{"events":null}`, `{"events":[]}`, `{"events":{}}`, `{"events":[1],"events":[2,3]}`,
	`{"large":{"id":"a","size":1,"sha256":"AQID"},"piece":{"blob":"a","offset":0,"data":"AQ=="}}`, `{"large":{"sha256":"!"}}`, `{"large":{"sha256":null}}`,
	`{"large":null,"piece":null}`, `{"final":1}`, `{"final":null}`, `{"Final":true}`, `{"jobs":[{"task":"t","epoch":1,"token":"x"},null]}`,
	`{"jobs":[{"task":"t"},{"more":1}]}`, `{"envelopes":[{"type":"a","body": {"a" : 1} ,"trace":{"a":"b"}},{"type":"b","body":null}]}`,
	`{"envelopes":7}`, `{"envelopes":[7]}`, `{"message": {"a":1} ,"metadata":null,"task":"x"}`, `{"extensions":["a","b"],"batches":true}`, "{\"token\":\"\xff\"}",
}

func FuzzDecode(f *testing.F) {
	for _, text := range spellings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameDecoded(t, text) })
}

// Ordinary messages of hubs and workers must not need encoding/json: each body with all its
// members is encoded and decoded without it.
func TestNothingUnusual(t *testing.T) {
	t.Parallel()
	for _, body := range bodyTypes {
		v := reflect.New(reflect.TypeOf(body).Elem())
		whole(v.Elem())
		text, ok := appendBody(nil, v.Interface())
		if !ok {
			t.Errorf("%T is not written without encoding/json", body)
		}
		if again := reflect.New(v.Type().Elem()); !readBody(text, again.Interface()) || !reflect.DeepEqual(again.Interface(), v.Interface()) {
			t.Errorf("%T is not read without encoding/json: %s", body, text)
		}
	}
	if names := slices.Collect(maps.Keys(decoders)); len(names) != len(bodyTypes) {
		t.Errorf("decoders of %v for %d types", names, len(bodyTypes))
	}
}

// whole sets v and all values reachable from it.
func whole(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":[1.0,null]}`))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			whole(field)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		whole(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		whole(v.Index(0))
		whole(v.Index(1))
	case v.Kind() == reflect.String:
		v.SetString("é")
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"a": "b"}))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	default:
		v.SetUint(7)
	}
}

func BenchmarkBody(b *testing.B) {
	event := json.RawMessage(`{"task":{"status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", 100) + `"}]}]}}`)
	report := &Report{Token: "LZ4ACBEIHKYBXQJ5UYLGFWTBPO", Worker: "bench.0123456789abcdef", Events: []json.RawMessage{event}}
	body, err := Encode(report)
	if err != nil {
		b.Fatal(err)
	}
	batch := new(Batch)
	for range 8 {
		batch.Envelopes = append(batch.Envelopes, Batched{
			Type: TypeReport, Correlation: "0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11", Task: "0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11", Owner: "local", Epoch: 1, Seq: 1, Body: body,
		})
	}
	for name, v := range map[string]any{"Report": report, "BatchOf8": batch} {
		text, err := Encode(v)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("Encode"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Decode"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var r Report
				var all Batch
				if name == "Report" {
					err = Decode(text, &r)
				} else {
					err = Decode(text, &all)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
