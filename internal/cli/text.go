package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

// stateName returns the short name of a state, such as "input-required".
func stateName(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// outcome returns a state as the verb of a sentence about the task.
func outcome(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateCompleted, a2a.TaskStateFailed:
		return stateName(s)
	case a2a.TaskStateCanceled, a2a.TaskStateRejected:
		return "was " + stateName(s)
	}
	return "is " + stateName(s)
}

var states = []a2a.TaskState{
	a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected,
}

func parseState(s string) (a2a.TaskState, error) {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = stateName(state)
		if strings.EqualFold(s, names[i]) || strings.EqualFold(s, state.String()) {
			return state, nil
		}
	}
	return "", usagef("unknown state %q: must be one of %s", s, strings.Join(names, ", "))
}

// sizeName formats a number of bytes for a person.
func sizeName(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// printer formats the texts of a reply.
type printer struct {
	// terminal is set if the output is a terminal.
	terminal bool
	// save is the folder for files. If empty, files are only described.
	save string
	// open returns the bytes of a part with a URL of the agent. If nil, such parts are only
	// described.
	open func(*a2a.Part) (io.ReadCloser, error)

	// unsaved is the joined errors of the files that could not be saved; nil if there are none.
	unsaved error
}

// clean returns s without control characters if the output is a terminal.
func (w *printer) clean(s string) string {
	if w.terminal {
		return printable(s)
	}
	return s
}

// part returns a part on one line, unless it is text.
func (w *printer) part(p *a2a.Part) (string, error) {
	switch content := p.Content.(type) {
	case a2a.Text:
		return w.clean(string(content)), nil
	case a2a.Data:
		text, err := w.data(content.Value)
		return w.clean(text), err
	case a2a.URL:
		return w.reference(p, string(content))
	case a2a.Raw:
		if w.save == "" {
			return w.clean("[" + list(cmp.Or(p.Filename, "file"), p.MediaType, sizeName(len(content))) + "]"), nil
		}
		path, _, err := saveFile(w.save, p.Filename, bytes.NewReader(content))
		if err != nil {
			return w.notSaved(err, cmp.Or(p.Filename, "file"), p.MediaType, sizeName(len(content))), nil
		}
		return w.clean("[saved " + list(path, p.MediaType, sizeName(len(content))) + "]"), nil
	}
	return "", nil
}

// reference describes a part with an address on one line. It saves the content at an address of
// the agent itself like bytes. It does not call other servers.
func (w *printer) reference(p *a2a.Part, address string) (string, error) {
	described := w.clean("[" + list(p.Filename, p.MediaType, address) + "]")
	if w.save == "" || w.open == nil {
		return described, nil
	}
	r, err := w.open(p)
	if errors.Is(err, client.ErrElsewhere) {
		return described, nil
	}
	if err != nil {
		return w.notSaved(err, p.Filename, p.MediaType, address), nil
	}
	defer r.Close()
	path, size, err := saveFile(w.save, p.Filename, r)
	if err != nil {
		return w.notSaved(err, p.Filename, p.MediaType, address), nil
	}
	return w.clean("[saved " + list(path, p.MediaType, sizeName(int(size))) + "]"), nil
}

// notSaved keeps the error of a file, and describes the file on one line. The rest of the reply
// is printed, and its other files are saved.
func (w *printer) notSaved(err error, name, mediaType, size string) string {
	w.unsaved = errors.Join(w.unsaved, fmt.Errorf("save %s: %w", cmp.Or(name, size), err))
	return w.clean("[" + list(name, mediaType, size, "not saved") + "]")
}

func (w *printer) data(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if w.terminal {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("print data: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// message returns the parts of a message, one a line.
func (w *printer) message(m *a2a.Message) (string, error) {
	if m == nil {
		return "", nil
	}
	var lines []string
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		line, err := w.part(p)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// list joins the nonempty words.
func list(items ...string) string {
	var kept []string
	for _, s := range items {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, ", ")
}

// saveFile writes content to a new file in dir, under the safe form of name, with a number if
// the file exists. It returns the path and the size. It removes a file that could not be written
// completely.
func saveFile(dir, name string, content io.Reader) (path string, size int64, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", 0, err
	}
	stem, ext := splitExtension(fileName(name))
	for i := 1; ; i++ {
		path := filepath.Join(dir, stem+ext)
		if i > 1 {
			path = filepath.Join(dir, stem+"-"+strconv.Itoa(i)+ext)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", 0, err
		}
		size, err = io.Copy(f, content)
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
		return path, size, err
	}
}
