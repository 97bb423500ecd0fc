package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
)

// completionHub starts a hub with two agents at queues and two tasks.
func completionHub(t *testing.T) *busHub {
	t.Helper()
	h := serveOn(t, new(bus.Memory), t.TempDir(), func(c *config.Config) {
		c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter", Description: "Greets."}, {Name: "grocer", Queue: "grocer"}}
	})
	for _, id := range []string{"order-4711", "order-4712"} {
		body := `{"message":{"messageId":"` + id + `","taskId":"` + id + `","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"returnImmediately":true}}`
		if code, answer := h.call("POST /v1/a2a/greeter/message:send", body); code != 200 {
			t.Fatalf("send = %d %s", code, answer)
		}
	}
	return h
}

// TestComplete checks the completions of lines.
func TestComplete(t *testing.T) {
	t.Parallel()
	h := completionHub(t)
	env := func(name string) (string, bool) { return h.URL(), name == "PARLEY_URL" }
	for line, want := range map[string]string{
		"ta":                          "tasks",
		"tasks ":                      "list count get cancel watch retry redrive fail reassign",
		"tasks ca":                    "cancel",
		"tasks get --ow":              "--owner",
		"tasks list --state in":       "input-required",
		"tasks list --state input-r":  "input-required",
		"tasks get order-471":         "order-4711 order-4712",
		"tasks get o":                 "order-4711 order-4712",
		"tasks get --json order-4712": "order-4712",
		"tasks get order-4711 ":       "",
		"tasks get x":                 "",
		"send --agent gr":             "greeter grocer",
		"send --agent=x --url " + h.URL() + " --agent gro": "grocer",
		"agents show gre": "greeter",
		"agents add gre":  "",
		"open order-4711": "order-4711",
		"completion ":     "bash zsh fish powershell",
		"send --url http://127.0.0.1:1 --agent gr": "",
		"nonsense ": "",
		"-":         "--help --quiet",
		"co":        "config contexts completion",
	} {
		code, out, errs := invoke(t, OS{LookupEnv: env}, append([]string{"complete", "--"}, strings.Split(line, " ")...)...)
		var got []string
		for text := range strings.Lines(out) {
			value, _, _ := strings.Cut(strings.TrimSpace(text), "\t")
			got = append(got, value)
		}
		if strings.HasPrefix(line, "tasks get ") {
			slices.Sort(got)
		}
		if line == "nonsense " {
			got = nil // the commands: it is an argument of none
		}
		if diff := cmp.Diff(strings.Fields(want), got); code != 0 || errs != "" || diff != "" && !(want == "" && got == nil) {
			t.Errorf("%q = %d, %s (-want +got):\n%s", line, code, errs, diff)
		}
	}
	_, out, _ := invoke(t, OS{LookupEnv: env}, "complete", "--", "send", "--agent", "gree")
	if out != "greeter\tGreets.\n" {
		t.Errorf("with a description: %q", out)
	}
}

// TestCompletePowerShell: the script asks for the next word with a flag, and its brackets match. There is no PowerShell
// here that could run it.
func TestCompletePowerShell(t *testing.T) {
	t.Parallel()
	_, want, _ := invoke(t, OS{}, "complete", "--", "inbox", "")
	if _, got, errs := invoke(t, OS{}, "complete", "--new", "--", "inbox"); got != want || !strings.HasPrefix(got, "list\t") {
		t.Errorf("complete --new: %q, %s, want %q", got, errs, want)
	}
	code, script, errs := invoke(t, OS{}, "completion", "powershell")
	if code != 0 {
		t.Fatalf("completion powershell = %d, %s", code, errs)
	}
	for _, want := range []string{"Register-ArgumentCompleter -Native -CommandName parley -ScriptBlock {", "@('complete', '--') + $words", "@('complete', '--new', '--') + $words"} {
		if !strings.Contains(script, want) {
			t.Errorf("the script has no %s", want)
		}
	}
	var open []rune
	for _, r := range script {
		switch i := strings.IndexRune("({[)}]", r); {
		case i >= 3 && (len(open) == 0 || open[len(open)-1] != rune("({["[i-3])):
			t.Fatalf("%c closes nothing", r)
		case i >= 3:
			open = open[:len(open)-1]
		case i >= 0:
			open = append(open, r)
		}
	}
	if len(open) > 0 {
		t.Errorf("not closed: %q", open)
	}
}
