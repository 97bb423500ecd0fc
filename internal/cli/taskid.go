package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
)

const (
	// shortest is the minimum length of the beginning of an id in place of the id.
	shortest = 4
	// candidates is how many tasks an error about an ambiguous beginning lists.
	candidates = 5
)

// lookup finds a task by the beginning of its id.
type lookup struct {
	*hubFlags
	// scope is "all" for the tasks of all owners, and otherwise "".
	scope string
}

// id returns the id of the task that begins with text. It returns text if the server is no Parley
// hub, or has no such task, so that the command itself gets the server's answer.
func (l *lookup) id(ctx context.Context, text string) (string, error) {
	if len(text) < shortest || isUUID(text) {
		return text, nil
	}
	found, err := l.one(ctx, text)
	switch {
	case err != nil:
		return "", err
	case found == nil:
		return text, nil
	}
	return string(found.TaskID), nil
}

// one returns the task with an id or its beginning; nil if the server is no Parley hub, or has no such task.
func (l *lookup) one(ctx context.Context, text string) (*adminjson.TaskInfo, error) {
	found, err := l.matches(ctx, text, candidates+1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	same := slices.DeleteFunc(slices.Clone(found), func(t adminjson.TaskInfo) bool { return string(t.TaskID) != text })
	switch {
	case len(same) > 1: // of several owners, which the hub names in its error
		return &adminjson.TaskInfo{TaskID: same[0].TaskID}, nil
	case len(same) == 1:
		return &same[0], nil
	case len(found) == 1:
		return &found[0], nil
	}
	return nil, ambiguous(text, found)
}

// matches returns tasks whose ids begin with text, none if the server is no Parley hub.
func (l *lookup) matches(ctx context.Context, text string, most int) ([]adminjson.TaskInfo, error) {
	q := given(map[string]string{"idPrefix": text, "pageSize": strconv.Itoa(most), "scope": l.scope})
	resp, err := l.events(ctx, "/tasks?"+q.Encode())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, l.unreachable(ctx, err)
	}
	var list adminjson.TaskList
	if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &list) != nil {
		return nil, nil // the command itself reports an error of a hub
	}
	return list.Tasks, nil
}

// ambiguous returns the error for a beginning of several ids, with the tasks.
func ambiguous(text string, found []adminjson.TaskInfo) error {
	var b strings.Builder
	for i, t := range found[:min(len(found), candidates)] {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  %s  %s  %s  %s", printable(string(t.TaskID)), stateName(a2a.TaskState(t.State)), plain(t.Agent), whenName(t.ChangedAt, time.Now()))
	}
	if len(found) > candidates {
		b.WriteString("\n  …")
	}
	return usagef("several tasks match %q:\n%s", text, b.String())
}

// resolve replaces the beginning of the id of a task by the id.
func (t *target) resolve(ctx context.Context, id *string) error {
	hub := t.hub()
	full, err := (&lookup{hubFlags: &hub}).id(ctx, *id)
	if err == nil {
		*id = full
	}
	return t.advise(err)
}
