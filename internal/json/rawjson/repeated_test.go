package rawjson

import "testing"

func TestRepeated(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":1,"b":{"a":1}}`:            "",
		`{"a":1,"a":2}`:                  "a",
		`{"a":1,"\u0061":2}`:             "a",
		`{"role":1,"Role":2}`:            "Role",
		`{"a":{"b":1,"B":2}}`:            "",
		`{"a":[{},{"b":{"c":1,"c":2}}]}`: "a[1].b.c",
		`[1,{"a":1,"a":1}]`:              "[1].a",
		`[[[{"a":1,"a":1}]]]`:            "[0][0][0].a",
		`"a"`:                            "",
		`null`:                           "",
	} {
		if got := Repeated([]byte(in)); got != want {
			t.Errorf("Repeated(%s) = %q, want %q", in, got, want)
		}
	}
}
