package a2ajson_test

import (
	"strconv"
	"testing"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
)

func TestOthersKeepEachNameOnce(t *testing.T) {
	t.Parallel()
	var o a2ajson.Others
	if got := o.Object(); got != nil {
		t.Errorf("no members = %s, want nil", got)
	}
	o.Add("a", []byte(`{ "n": 9007199254740993, "f": 1.50 }`))
	o.Add("", []byte(`null`))
	o.Add("a", []byte(`2`))
	o.Add("quo\"te", []byte(`"x"`))
	if got, want := string(o.Object()), `{"a":{"n":9007199254740993,"f":1.50},"":null,"quo\"te":"x"}`; got != want {
		t.Errorf("members = %s, want %s", got, want)
	}
	for i := range 100 {
		o.Add(strconv.Itoa(i%50), []byte("1"))
	}
	if got, want := len(o.Object()), len(`{"a":{"n":9007199254740993,"f":1.50},"":null,"quo\"te":"x"}`)+10*len(`,"0":1`)+40*len(`,"10":1`); got != want {
		t.Errorf("members = %d bytes, want %d", got, want)
	}
}
