package yamlfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type item struct {
	Name  string            `yaml:"name"`
	Count int               `yaml:"count"`
	Tags  []string          `yaml:"tags"`
	Extra map[string]string `yaml:"extra"`
}

func none(string) (string, bool) { return "", false }

// In a list of independent items, valid items are decoded despite invalid ones, and each
// problem has its line and its key. JSON is read like YAML.
func TestDecodeList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		want      []item
		problems  string
	}{
		{"YAML", "- name: a\n  tags: [x, y]\n- {name: b, count: 2}\n", []item{{Name: "a", Tags: []string{"x", "y"}}, {Name: "b", Count: 2}}, ""},
		{"JSON", "[\n  {\"name\": \"a\",\n   \"extra\": {\"k\": \"v\"}}\n]", []item{{Name: "a", Extra: map[string]string{"k": "v"}}}, ""},
		{"nothing", "", nil, ""},
		{
			"one is wrong", "- name: a\n- nmae: b\n  count: -1\n- name: c\n",
			[]item{{Name: "a"}, {}, {Name: "c"}},
			"f:2: [1].nmae: unknown key; did you mean name?\nf:3: [1].count: \"-1\" is not a whole number of at least 0",
		},
		{
			"a variable is missing in JSON", "[{\n\"name\": \"${NONE}\"}]",
			[]item{{}},
			"f:2: [0].name: variable NONE is not set; write ${NONE:-text} for a default, or $${NONE} for the literal text",
		},
		{"no list", "name: a", nil, "f:1: must be a list, not a mapping"},
		{"no YAML", "[\n{", nil, "f:2: "},
	} {
		var got []item
		d := New("f", none)
		d.Decode([]byte(tt.src), &got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", tt.name, diff)
		}
		text := ""
		if d.Problems() != nil {
			text = d.Problems().Error()
		}
		if tt.name == "no YAML" && len(text) > len(tt.problems) {
			text = text[:len(tt.problems)]
		}
		if text != tt.problems {
			t.Errorf("%s: problems %q, want %q", tt.name, text, tt.problems)
		}
	}
}
