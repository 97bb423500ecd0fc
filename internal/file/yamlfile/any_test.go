package yamlfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAny(t *testing.T) {
	t.Parallel()
	var got struct {
		Value Any `yaml:"value"`
	}
	d := New("f.yaml", func(name string) (string, bool) { return "is " + name, name == "SET" })
	d.Decode([]byte("value: {a: [1, 2.5, true, null, '7'], b: {c: '${SET}', d: &e [x], f: *e}}\n"), &got)
	want := map[string]any{
		"a": []any{int64(1), 2.5, true, nil, "7"},
		"b": map[string]any{"c": "is SET", "d": []any{"x"}, "f": []any{"x"}},
	}
	if diff := cmp.Diff(want, got.Value.V); diff != "" || len(d.Problems()) > 0 {
		t.Errorf("problems %v, value mismatch (-want +got):\n%s", d.Problems(), diff)
	}
	d = New("f.yaml", func(string) (string, bool) { return "", false })
	d.Decode([]byte("value: {a: ['${UNSET}']}\n"), &got)
	if len(d.Problems()) != 1 || d.Problems()[0].Key != "value.a[0]" {
		t.Errorf("problems %v, want one at value.a[0]", d.Problems())
	}
}
