package rawjson_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

func TestInt(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "-0": 0, "-0.0": 0, "999": 999, "999.0": 999, "9.99e2": 999, "-1E+2": -100, "7.0": 7,
		"9223372036854775807": 1<<63 - 1, "9007199254740992.0": 1 << 53,
	} {
		if got, ok := rawjson.Int([]byte(in)); !ok || got != want {
			t.Errorf("Int(%s) = %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{
		"", " 7", "1.5", "1e-1", "1e400", "1e30", "9223372036854775808", "9007199254740994.0", `"1"`, "null", "true", "[1]", "{}", "0x10", "1_0", "Inf",
		"NaN", "+1",
	} {
		if got, ok := rawjson.Int([]byte(in)); ok {
			t.Errorf("Int(%s) = %d", in, got)
		}
	}
}

func TestUnmarshalInts(t *testing.T) {
	var v struct {
		N     int
		Small uint8
		Text  string
		Ratio float64
	}
	if err := rawjson.Unmarshal([]byte(`{"n":12.0,"small":1e2,"text":"1.0 \" 2.0","ratio":0.5}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.N != 12 || v.Small != 100 || v.Text != `1.0 " 2.0` || v.Ratio != 0.5 {
		t.Errorf("Unmarshal gave %+v", v)
	}
	for _, in := range []string{`{"n":1.5}`, `{"n":"1"}`, `{"small":300.0}`, `{"n":1e400}`, `{"n":`} {
		if err := rawjson.Unmarshal([]byte(in), &v); err == nil {
			t.Errorf("Unmarshal(%s) succeeded", in)
		}
	}
}
