package a2ajson_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
)

func TestReadInt(t *testing.T) {
	t.Parallel()
	good := map[string]int{
		`5`: 5, `-7`: -7, `"12"`: 12, `1e2`: 100, `5.0`: 5, `"5.0"`: 5, `0`: 0,
		`2147483647`: 2147483647, `-2147483648`: -2147483648,
	}
	for in, want := range good {
		if got, err := a2ajson.ReadInt([]byte(in)); err != nil || got != want {
			t.Errorf("ReadInt(%s) = %d, %v, want %d", in, got, err, want)
		}
	}
	bad := []string{
		`5.5`, `"x"`, `""`, `true`, `null`, `[]`, `2147483648`, `1e400`, `"0x10"`, `"1_0"`, `"Inf"`, `" 5"`, `"0x1p4"`,
	}
	for _, in := range bad {
		if got, err := a2ajson.ReadInt([]byte(in)); err == nil {
			t.Errorf("ReadInt(%s) = %d, want an error", in, got)
		}
	}
}

func TestReadBool(t *testing.T) {
	t.Parallel()
	for _, want := range []bool{true, false} {
		if got, err := a2ajson.ReadBool([]byte(strconv.FormatBool(want))); err != nil || got != want {
			t.Errorf("ReadBool(%v) = %v, %v", want, got, err)
		}
	}
	if _, err := a2ajson.ReadBool([]byte(`"true"`)); err == nil {
		t.Error("ReadBool of a string succeeded")
	}
}

func TestReadObject(t *testing.T) {
	t.Parallel()
	in := []byte(`{ "a" : [ 1.0 ] }`)
	got, err := a2ajson.ReadObject(in)
	if want := `{"a":[1.0]}`; err != nil || string(got) != want {
		t.Fatalf("ReadObject = %s, %v, want %s", got, err, want)
	}
	clear(in)
	if string(got) != `{"a":[1.0]}` {
		t.Error("the object aliases its input")
	}
	if _, err := a2ajson.ReadObject([]byte(`[]`)); err == nil {
		t.Error("ReadObject of a list succeeded")
	}
}

func TestReadStrings(t *testing.T) {
	t.Parallel()
	got, err := a2ajson.ReadStrings([]byte(`["a","\u0062"]`))
	if diff := cmp.Diff([]string{"a", "b"}, got); err != nil || diff != "" {
		t.Errorf("ReadStrings = %v (-want +got):\n%s", err, diff)
	}
	if got, err := a2ajson.ReadStrings([]byte(`[]`)); err != nil || got != nil {
		t.Errorf("ReadStrings([]) = %v, %v", got, err)
	}
	_, err = a2ajson.ReadStrings([]byte(`["a",null]`))
	wantField(t, err, "[1]", "string")
}

func TestSchema(t *testing.T) {
	t.Parallel()
	s := a2ajson.NewSchema("pageSize", "id:name")
	for name, want := range map[string]int{
		"pageSize": 0, "page_size": 0, "id": 1, "name": 1, "": a2ajson.Unknown, "PageSize": a2ajson.Unknown,
	} {
		if got := s.Index(name); got != want {
			t.Errorf("Index(%q) = %d, want %d", name, got, want)
		}
	}
	var got []string
	err := s.Each([]byte(`{"x":1,"X":2,"x":3,"page_size":4,"id":null}`), func(i int, name string, v []byte) error {
		got = append(got, strconv.Itoa(i)+name+string(v))
		return nil
	})
	if diff := cmp.Diff([]string{"-1x1", "-1X2", "-1x3", "0page_size4"}, got); err != nil || diff != "" {
		t.Errorf("Each: %v (-want +got):\n%s", err, diff)
	}
}

func TestUnder(t *testing.T) {
	t.Parallel()
	err := a2ajson.Under("message", a2ajson.Under("parts", a2ajson.Under("[2]", a2ajson.Under("raw", a2ajson.Invalid("is bad")))))
	wantField(t, err, "message.parts[2].raw", "is bad")
	if got, want := err.Error(), "message.parts[2].raw: is bad"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	plain := errors.New("plain")
	if got := a2ajson.Under("x", plain); got != plain {
		t.Errorf("Under of a foreign error = %v", got)
	}
}
