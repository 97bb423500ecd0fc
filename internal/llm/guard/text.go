package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Text is a text that a model may read. Other packages cannot make one of any string: each
// function that returns a Text states whose words it has, and labels those of others. The zero
// Text is empty.
type Text struct{ text string }

// constant is a string that only constants of a program have: other packages cannot convert a
// variable to it.
type constant string

// String returns the text.
func (t Text) String() string { return t.text }

// IsEmpty reports whether the text has no characters but blanks.
func (t Text) IsEmpty() bool { return strings.TrimSpace(t.text) == "" }

// MarshalJSON implements json.Marshaler. The JSON is a string, whose brackets only the caller's
// encoder may escape.
func (t Text) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(t.text)
	return bytes.TrimSpace(b.Bytes()), err
}

// UnmarshalJSON implements json.Unmarshaler, for texts that the hub has stored itself.
func (t *Text) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &t.text) }

// Words returns words of the hub. The format is a constant with the verbs of package fmt. A Text
// among args is inserted unchanged. A string that is no plain name (IsName) is labelled as a text of
// unknown origin.
func Words(format constant, args ...any) Text {
	shown := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Text:
			shown[i] = verbatim(a.text)
		case string:
			shown[i] = a
			if a != "" && !IsName(a) {
				shown[i] = verbatim(Label("", a))
			}
		case int, int64, bool, time.Duration:
			shown[i] = a
		default:
			shown[i] = verbatim(Label("", fmt.Sprint(a)))
		}
	}
	return Text{fmt.Sprintf(string(format), shown...)}
}

// verbatim is a text that every verb writes unchanged.
type verbatim string

// Format implements fmt.Formatter.
func (v verbatim) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(v)) }

// Operator returns a text of the operator's configuration.
func Operator(text string) Text { return Text{text} }

// Text returns words of others, labelled by the policy of g. It is the Text of Quote.
func (g Guard) Text(o Origin, text string) Text { return Text{g.Quote(o, text).Text} }

// Own returns words of the model itself or of its caller, as o says: its request, its notes, the
// arguments of its calls. They carry a label only if the screen finds an order in them, because a
// model may repeat words that it has read, and a caller may pass on words of others.
func (g Guard) Own(o Origin, text string) Text {
	if g.Policy == Off || len(Orders(text)) == 0 {
		return Text{text}
	}
	return g.Text(o, text)
}

// Checked returns the result of a tool that labels the words of others itself. A result with a known
// phrase of an order outside of its labels is labelled as a whole, as words of o. Cues do not count: the
// advice of the hub in results consists of orders to the model, too.
func (g Guard) Checked(o Origin, text string) Text {
	if rest := Outside(text); g.Policy == Off || !Grave(screen(rest, maxDepth+1)) && !ordersInNames(rest) {
		return Text{text}
	}
	return g.Text(o, text)
}

// ordersInNames reports whether the words of a name in a text are an order.
func ordersInNames(text string) bool {
	const fewest = 2 // of signs between words
	for name := range strings.FieldsFuncSeq(text, foreignToNames) {
		signs := strings.Count(name, "_") + strings.Count(name, "-")
		if signs >= fewest && len(name) <= MaxName && !harmless(name) {
			return true
		}
	}
	return false
}

// Join returns texts, each after the first one preceded by a separator.
func Join(separator constant, texts ...Text) Text {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = t.text
	}
	return Text{strings.Join(all, string(separator))}
}

// Cut returns the first bytes of the text, at most n, and reports whether some are missing. A
// label that is cut gets its end.
func (t Text) Cut(n int) (Text, bool) {
	if len(t.text) <= n {
		return t, false
	}
	text := strings.ToValidUTF8(t.text[:n], "")
	if begin := strings.LastIndex(text, "<"); begin >= 0 && !strings.Contains(text[begin:], ">") {
		text = text[:begin] // the piece of a tag
	}
	for _, at := range openings.FindAllStringSubmatchIndex(text, -1) {
		end := closingOf(text[at[2]:at[3]])
		if !strings.Contains(text[at[1]:], end) {
			text += "\n" + end
			break
		}
	}
	return Text{text}, true
}
