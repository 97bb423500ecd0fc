package rawjson_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

func TestMend(t *testing.T) {
	for in, want := range map[string]string{
		``:                             ``,
		`"plain \n é"`:                 `"plain \n é"`,
		`"\ud83d\ude00"`:               `"\ud83d\ude00"`,
		`"half \ud83d"`:                `"half \ufffd"`,
		`"\ude00 other half"`:          `"\ufffd other half"`,
		`"\ud83d\ud83d\ude00"`:         `"\ufffd\ud83d\ude00"`,
		`"\ude00\ud83d"`:               `"\ufffd\ufffd"`,
		`"\\ud83d is no escape"`:       `"\\ud83d is no escape"`,
		`"\\\ud83d is one"`:            `"\\\ufffd is one"`,
		"\"\xff\xfe latin\"":           `"` + "\ufffd" + ` latin"`,
		"\"\xed\xa0\xbd in UTF-8\"":    `"` + "\ufffd" + ` in UTF-8"`,
		`{"a\udc00":["\uD83D", "\u12`:  `{"a\ufffd":["\ufffd", "\u12`,
		`"ends in a backslash \`:       `"ends in a backslash \`,
		`["\ud83d","\ude00"]`:          `["\ufffd","\ufffd"]`,
		`"\ud83dx\ude00"`:              `"\ufffdx\ufffd"`,
		`{"score":NaN,"t":"\ud83d\n"}`: `{"score":NaN,"t":"\ufffd\n"}`,
	} {
		before := in
		if got := string(rawjson.Mend([]byte(in))); got != want || in != before {
			t.Errorf("Mend(%s) = %s, want %s", in, got, want)
		}
	}
}
