package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/suggest"
)

// Errors of the parser that need other words.
var (
	ofAList   = regexp.MustCompile(`^(.*) must be one of ("[^ ]*") but got "(.*)"$`)
	noNumber  = regexp.MustCompile(`expected a valid \d+ bit u?int but got (".*")$`)
	noValue   = regexp.MustCompile(`^(--[\w-]+): expected \S+ value but got "EOL" .*$`)
	likeAFlag = regexp.MustCompile(`^(--[\w-]+): expected \S+ value but got "(-.*?)" \(.* flag\); perhaps try .*$`)
)

// worded returns an error of the parser in the words of the other errors.
func worded(text string) string {
	if m := likeAFlag.FindStringSubmatch(text); m != nil {
		return m[1] + ": " + m[2] + " begins like a flag; write " + m[1] + "=" + m[2]
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return m[1] + " needs a value"
	}
	m := ofAList.FindStringSubmatch(text)
	if m == nil {
		return noNumber.ReplaceAllString(text, "$1 is not a whole number")
	}
	names := slices.DeleteFunc(strings.Split(strings.ReplaceAll(m[2], `"`, ""), ","), func(s string) bool { return s == "" })
	text = m[1] + " must be one of " + strings.Join(names, ", ") + `, not "` + m[3] + `"`
	if near := suggest.Nearest(m[3], names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}
