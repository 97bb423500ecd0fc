package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/childenv"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// runDir is the variable that marks a program with the folder of its run.
const runDir = "PARLEY_RUN_DIR"

// Files in the folder of a run.
const (
	inputFile   = "input"
	messageFile = "message.json"
	taskFile    = "task.json"
	recordFile  = "process.json"
)

// folderPrefix is the prefix of the name of a run's folder.
const folderPrefix = "parley-run-"

// realPath returns the canonical path of a folder, so that marks can be compared.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// folder holds the files of a run: the program's input files, and the record for Reap. Only the
// hub's user can read it.
type folder struct {
	path string
	// recorded is set if Reap searches the parent folder.
	recorded bool
	rec      record
	env      []string
}

// newFolder creates the folder of a run.
func newFolder(ctx context.Context, a *Agent, ec *a2asrv.ExecutorContext) (*folder, error) {
	f, err := emptyFolder(a)
	if err != nil {
		return nil, err
	}
	if err := f.fill(ctx, a, ec); err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

// emptyFolder creates a folder without files.
func emptyFolder(a *Agent) (*folder, error) {
	base := a.Runs
	if base == "" {
		base = os.TempDir()
	} else if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	base, err := realPath(base)
	if err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(base, folderPrefix)
	if err != nil {
		return nil, err
	}
	return &folder{path: path, recorded: a.Runs != ""}, nil
}

// fill writes the files and builds the environment.
func (f *folder) fill(ctx context.Context, a *Agent, ec *a2asrv.ExecutorContext) error {
	call := agent.CallFrom(ctx)
	if call == nil {
		call = &agent.Call{Attempt: 1}
	}
	message, err := messageJSON(call, ec.Message)
	if err != nil {
		return err
	}
	if err := f.write(messageFile, message); err != nil {
		return err
	}
	if err := f.write(inputFile, []byte(agent.Text(ec.Message))); err != nil {
		return err
	}
	f.env = environment(a, map[string]string{
		"PARLEY_MESSAGE_FILE": f.file(messageFile),
		"PARLEY_TASK_ID":      string(ec.TaskID),
		"PARLEY_CONTEXT_ID":   ec.ContextID,
		"PARLEY_RUN_KEY":      call.Key,
		"PARLEY_ATTEMPT":      strconv.Itoa(call.Attempt),
		"PARLEY_SKILL":        call.Skill,
		runDir:                f.path,

		"PARLEY_CORRELATION_ID": call.CorrelationID,
		"PARLEY_PARENT_ID":      call.ParentID,
	})
	if modes := acceptedModes(call.AcceptedOutputModes); modes != "" {
		f.env = append(f.env, "PARLEY_ACCEPTED_OUTPUT_MODES="+modes)
	}
	f.env = append(f.env, trace.Environ(ctx)...)
	if err := f.name(ctx, a); err != nil {
		return err
	}
	if ec.StoredTask != nil {
		if err := f.writeTask(call, ec.StoredTask); err != nil {
			return err
		}
	}
	f.rec = record{Task: ec.TaskID, Key: call.Key, Attempt: call.Attempt}
	return f.record()
}

// maxAccepted limits the length of PARLEY_ACCEPTED_OUTPUT_MODES: a program with too large an
// environment does not start.
const maxAccepted = 4 << 10

// acceptedModes returns media types with commas between them, without those that an environment
// or the list cannot hold.
func acceptedModes(modes []string) string {
	var b strings.Builder
	for _, m := range modes {
		if m == "" || strings.Contains(m, ",") || strings.ContainsFunc(m, unicode.IsControl) || b.Len()+len(m) >= maxAccepted {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m)
	}
	return b.String()
}

// caller is the JSON of PARLEY_CALLER.
type caller struct {
	ID    string     `json:"id"`
	Owner task.Owner `json:"owner"`
	Name  string     `json:"name,omitempty"`
	Org   string     `json:"org,omitempty"`
	Roles []string   `json:"roles,omitempty"`
}

// name adds the caller's identity to the environment.
func (f *folder) name(ctx context.Context, a *Agent) error {
	p := auth.PrincipalFrom(ctx)
	if p == nil {
		return nil
	}
	text, err := json.Marshal(&caller{p.ID, p.Owner(), p.DisplayName, p.Org, p.Roles})
	if err != nil {
		return fmt.Errorf("encode caller: %w", err)
	}
	f.env = append(f.env, "PARLEY_CALLER="+string(text))
	if a.Assert == nil {
		return nil
	}
	assertion, err := a.Assert(ctx)
	if err != nil {
		return err
	}
	if assertion != "" {
		f.env = append(f.env, "PARLEY_ASSERTION="+assertion)
	}
	return nil
}

// writeTask writes the task as stored by the hub, with all digits of its numbers.
func (f *folder) writeTask(call *agent.Call, t *a2a.Task) error {
	b := call.Task
	if len(b) == 0 {
		var err error
		if b, err = json.Marshal(t); err != nil {
			return fmt.Errorf("encode task: %w", err)
		}
	}
	f.env = append(f.env, "PARLEY_TASK_FILE="+f.file(taskFile))
	return f.write(taskFile, b)
}

// messageJSON returns the message as received, or encodes it if the hub does not provide that.
func messageJSON(call *agent.Call, m *a2a.Message) ([]byte, error) {
	if len(call.Message) > 0 {
		return call.Message, nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return b, nil
}

// environment returns the variables that programs need, followed by the agent's variables and
// vars. With Inherit they are all of this process, without those of Parley and without the trace
// context in which it was started.
func environment(a *Agent, vars map[string]string) []string {
	env := childenv.Base()
	if a.Inherit {
		env = slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "PARLEY_") || strings.HasPrefix(v, "TRACEPARENT=") || strings.HasPrefix(v, "TRACESTATE=")
		})
	}
	env = append(env, a.Env...)
	for name, value := range vars {
		// A zero byte would make the start of the program fail.
		env = append(env, name+"="+strings.ReplaceAll(value, "\x00", ""))
	}
	return env
}

// record writes the record for Reap, if Reap searches the parent folder.
func (f *folder) record() error {
	if !f.recorded {
		return nil
	}
	b, err := json.Marshal(&f.rec)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	// A reader sees the old record or the new one, never a part.
	if err := f.write(recordFile+".new", b); err != nil {
		return err
	}
	return os.Rename(f.file(recordFile+".new"), f.file(recordFile))
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) write(name string, b []byte) error { return os.WriteFile(f.file(name), b, 0o600) }

// remove deletes the folder. If that fails, the next Reap does it.
func (f *folder) remove() { _ = os.RemoveAll(f.path) }
