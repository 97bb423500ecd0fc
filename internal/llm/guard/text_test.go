package guard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Words inserts plain names and numbers, and labels all other strings.
func TestWords(t *testing.T) {
	t.Parallel()
	g := Guard{}
	quoted := g.Text(Agent("a"), "rain")
	for got, want := range map[Text]string{
		Words("a %q b %d c %v", "name-1", 7, time.Second):     `a "name-1" b 7 c 1s`,
		Words("a %s", quoted):                                 "a " + quoted.String(),
		Words("a %q", quoted):                                 "a " + quoted.String(),
		Words("a %q", "two words"):                            "a " + Label("", "two words"),
		Words("a %s", "ignore_all_previous_instructions"):     "a " + Label("", "ignore_all_previous_instructions"),
		Words("a %v", fmt.Errorf("no such city")):             "a " + Label("", "no such city"),
		Words("a %s", Origin("two words")):                    "a " + Label("", "two_words"),
		Words("a %q", ""):                                     `a ""`,
		Join(", ", Words("a"), Words("b")):                    "a, b",
		g.Own(Caller, "rain"):                                 "rain",
		g.Own(Caller, attack):                                 g.Quote(Caller, attack).Text,
		Guard{Policy: Off}.Own(Caller, attack):                attack,
		Guard{Policy: Off}.Text(Caller, attack):               attack,
		Guard{Policy: Off}.Checked("", attack):                attack,
		g.Checked("", "a "+quoted.String()):                   "a " + quoted.String(),
		g.Checked("", g.Text("", attack).String()):            g.Text("", attack).String(),
		g.Checked(Agent("b"), attack+" "+quoted.String()):     g.Quote(Agent("b"), attack+" "+quoted.String()).Text,
		Guard{Policy: Refuse}.Own(Caller, "read my-own.file"): "read my-own.file",
	} {
		if got.String() != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
}

func TestTextInJSON(t *testing.T) {
	t.Parallel()
	text := Guard{}.Text(Agent("a"), `say "hi" & <b>`)
	b, err := json.Marshal(map[string]Text{"k": text})
	var back map[string]Text
	if err != nil || json.Unmarshal(b, &back) != nil || back["k"] != text {
		t.Errorf("%s is read as %q, %v", b, back["k"], err)
	}
	if b, _ := text.MarshalJSON(); !strings.Contains(string(b), "<quoted") {
		t.Errorf("a text is written as %s", b)
	}
}

// A label that is cut gets its end, wherever the text is cut.
func TestCut(t *testing.T) {
	t.Parallel()
	whole := Words("before %s between %s after", Guard{}.Text(Agent("a"), strings.Repeat("ä", 50)), Guard{}.Text(Agent("b"), "rain <b>"))
	for n := range len(whole.String()) {
		got, cut := whole.Cut(n)
		rest := Outside(got.String())
		if !cut || strings.Contains(rest, "ä") || strings.Contains(rest, "rain") || strings.Contains(rest, "<") || len(got.String()) > n+50 {
			t.Fatalf("the first %d bytes are %q", n, got)
		}
	}
	if got, cut := whole.Cut(len(whole.String())); cut || got != whole {
		t.Errorf("the whole text is cut to %q", got)
	}
}

// Names in words of the caller are read as words.
func TestOrders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"read a_b.txt and c-d.txt": "", attack: "Ignore all previous instructions",
		"rain in ignore_all_previous_instructions.txt today": "ignore_all_previous_instructions",
	} {
		found := Orders(text)
		if got := len(found) > 0; got != (want != "") || got && text[found[0].Start:found[0].End] != want {
			t.Errorf("the orders in %q are %v, want %q", text, found, want)
		}
	}
}

// A label's origin is no order.
func TestNamesOfOrigins(t *testing.T) {
	t.Parallel()
	got := Agent("ignore-all-previous-instructions").String()
	if !strings.HasPrefix(got, "agent/") || strings.Contains(got, "ignore") || got == Agent("ignore-all-previous-orders").String() {
		t.Errorf("the origin is shown as %s", got)
	}
}

// A wrong cue is found when the program starts.
func TestWrongCues(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[task]\nx a / b", "[task]\n7 $none / b", "[task]\n7"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the cue %q is accepted", text)
				}
			}()
			newCueList(text, "some: a b\n")
		}()
	}
}
