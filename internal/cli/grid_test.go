package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
)

// TestGrid checks a list on a terminal: aligned columns below colors, relative times, and ids that
// are as short as they can be.
func TestGrid(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rows := func() [][]string {
		return [][]string{
			{"01993d8e-7a11-7c3e-9d5f-0d6a4b1c2e3f", "working", now.Add(-3 * time.Minute).Format(time.RFC3339), "ä\x1b[2Jb"},
			{"01993d8e-7a11-7c3e-8d5f-0d6a4b1c2e3f", "failed", now.Add(2 * time.Hour).Format(time.RFC3339), "x"},
			{"order-4711-is-no-uuid", "odd", "-", "x"},
		}
	}
	for _, colors := range []bool{false, true} {
		g := &grid{heads: []string{"TASK", "STATE", "CHANGED", "CONTEXT"}, rows: rows(), colors: colors, now: now}
		var b bytes.Buffer
		if err := g.write(&b); err != nil {
			t.Fatal(err)
		}
		want := `TASK                   STATE    CHANGED    CONTEXT
01993d8e-7a11-7c3e-9   working  3m00s ago  ä[2Jb
01993d8e-7a11-7c3e-8   failed   in 2h00m   x
order-4711-is-no-uuid  odd      -          x
`
		got := b.String()
		if colors {
			if !strings.Contains(got, blue+"working"+colorOff) || !strings.Contains(got, red+"failed"+colorOff) || strings.Contains(got, "\x1b[2J") {
				t.Errorf("colors are missing, or those of others are there: %q", got)
			}
			for _, c := range []string{faint, red, green, yellow, blue, colorOff} {
				got = strings.ReplaceAll(got, c, "")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("colors %v (-want +got):\n%s", colors, diff)
		}
	}
}

// TestColorful checks the environments without colors.
func TestColorful(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{"": true, "NO_COLOR=1": false, "NO_COLOR=": true, "TERM=dumb": false, "TERM=xterm": true} {
		name, value, _ := strings.Cut(env, "=")
		got := colorful(func(n string) (string, bool) { return value, n == name && env != "" })
		if got != want {
			t.Errorf("%q: %v, want %v", env, got, want)
		}
	}
}

// TestBeginningOfAnID checks that commands find a task by the beginning of its id, and list the
// tasks if there are several.
func TestBeginningOfAnID(t *testing.T) {
	t.Parallel()
	h := serveOn(t, new(bus.Memory), t.TempDir(), func(c *config.Config) {
		c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}, {Name: "other", Queue: "other"}}
	})
	for _, id := range []string{"order-4711", "order-4712", "order-48"} {
		body := `{"message":{"messageId":"` + id + `","taskId":"` + id + `","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"returnImmediately":true}}`
		if code, answer := h.call("POST /v1/a2a/greeter/message:send", body); code != 200 {
			t.Fatalf("send = %d %s", code, answer)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"tasks get order-48", 0, "task     order-48\n"},
		{"tasks get order-4712", 0, "task     order-4712\n"},
		{"tasks get order-47", exitUsage, "parley tasks get: several tasks match \"order-47\":\n  order-4711  "},
		{"tasks get --all order-4", exitUsage, "several tasks match \"order-4\":\n"},
		{"tasks get --all order-471", exitUsage, "  order-4712  "},
		{"tasks get --all orde", exitUsage, "order-48"},
		{"tasks get ord", exitFailed, "not found"},
		{"tasks get nothing-like-it", exitFailed, "not found"},
		{"send --agent greeter --task order-4 --detach hello", exitUsage, "order-4712"},
		{"send --agent greeter --task order-48 --detach hello", 0, "order-48\n"},
		{"tasks reassign order-4711 --agent other", 0, "order-4711\t"},
		{"tasks redrive order-48", 0, "order-48\t"},
		{"tasks fail order-4712 --reason x", 0, "order-4712\tfailed"},
		{"tasks cancel order-48 -q", 0, ""},
		{"tasks list -q --state canceled", 0, "order-48\n"},
		{"open order-471", exitUsage, "several tasks"},
	} {
		name, rest, _ := strings.Cut(tt.args, " ")
		args := append([]string{name}, strings.Fields(rest)...)
		code, out, errs := invoke(t, OS{}, append(args, "--url", h.URL())...)
		if code != tt.code || !strings.Contains(out+errs, tt.want) || tt.want == "" && out+errs != "" {
			t.Errorf("%s = %d, %q, %q, want %d and %q", tt.args, code, out, errs, tt.code, tt.want)
		}
	}
}

// TestTopOnATerminal checks that the overview is drawn on a screen of its own, which a signal
// leaves.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	h := serveOn(t, new(bus.Memory), t.TempDir(), func(c *config.Config) { c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}} })
	h.send("greeter", "waits")
	r, w := io.Pipe()
	signals := make(chan os.Signal, 1)
	o := OS{Stdout: w, Stderr: t.Output(), Terminal: true, Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	done := make(chan int, 1)
	go func() {
		done <- Main(t.Context(), []string{"top", "--url", h.URL(), "--every", "100ms"}, o)
		w.Close()
	}()
	var all bytes.Buffer
	chunk := make([]byte, 64<<10)
	for strings.Count(all.String(), "\x1b[H") < 3 {
		n, err := r.Read(chunk)
		if err != nil {
			t.Fatalf("%v after %q", err, all.String())
		}
		all.Write(chunk[:n])
	}
	signals <- os.Interrupt
	rest, _ := io.ReadAll(r)
	all.Write(rest)
	got := all.String()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"\x1b[?1049h", "ended/s", "greeter", fmt.Sprintf("tasks %d", 1)} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if !strings.HasSuffix(got, "\x1b[?25h\x1b[?1049l") {
		t.Errorf("the screen is not restored: %q", got[max(0, len(got)-80):])
	}
}

// TestDesktop checks the commands that open a browser.
func TestDesktop(t *testing.T) {
	t.Parallel()
	env := func(name string) *OS {
		return &OS{LookupEnv: func(n string) (string, bool) { return ":0", n == name }}
	}
	for _, tt := range []struct {
		system string
		o      *OS
		want   string
	}{
		{"darwin", env(""), "open"},
		{"windows", env(""), "rundll32 url.dll,FileProtocolHandler"},
		{"linux", env("DISPLAY"), "xdg-open"},
		{"linux", env("WAYLAND_DISPLAY"), "xdg-open"},
		{"linux", env(""), ""},
		{"freebsd", &OS{}, ""},
	} {
		if got := strings.Join(desktop(tt.system, tt.o), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.system, got, tt.want)
		}
	}
}
