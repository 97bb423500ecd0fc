package endpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
	"github.com/parley-a2a/parley/internal/task"
)

// Library reads the resources of a hub's caller.
type Library struct {
	// Hub sends the requests. It is required.
	Hub *hubclient.Hub
	// Guard labels and screens the texts of agents and callers. The zero Guard adds warnings.
	Guard guard.Guard
}

var (
	_ mcpserver.Library = (*Library)(nil)
	_ mcpserver.Watcher = (*Library)(nil)
)

const (
	taskRoot  = "parley://tasks/"
	noteRoot  = "parley://memory/"
	artifacts = "/artifacts/"
	mediaJSON = "application/json"
)

// Templates implements mcpserver.Library.
func (*Library) Templates() []mcpserver.Template {
	return []mcpserver.Template{
		{URITemplate: taskRoot + "{id}", Name: "Tasks", MIMEType: mediaJSON, Description: "The request to an agent, and its outcome."},
		{URITemplate: taskRoot + "{id}" + artifacts + "{artifactId}", Name: "Artifacts", Description: "A result of a task."},
		{URITemplate: noteRoot + "{+key}", Name: "Working memory", Description: "Notes that were kept, and results of tasks."},
	}
}

// ref is a parsed address: that of a note if key is set.
type ref struct {
	task     a2a.TaskID
	artifact a2a.ArtifactID
	key      string
}

// parse parses an address.
func parse(uri string) (ref, bool) {
	if tail, ok := strings.CutPrefix(uri, noteRoot); ok {
		key, err := url.PathUnescape(tail)
		return ref{key: key}, err == nil && key != ""
	}
	tail, ok := strings.CutPrefix(uri, taskRoot)
	if !ok {
		return ref{}, false
	}
	id, artifact, more := strings.Cut(tail, artifacts)
	one, err := url.PathUnescape(id)
	if err != nil || one == "" || strings.Contains(id, "/") {
		return ref{}, false
	}
	two, err := url.PathUnescape(artifact)
	if err != nil || more && two == "" || strings.Contains(artifact, "/") {
		return ref{}, false
	}
	return ref{task: a2a.TaskID(one), artifact: a2a.ArtifactID(two)}, true
}

// TaskURI returns the address of a task.
func TaskURI(id a2a.TaskID) string { return taskRoot + url.PathEscape(string(id)) }

// NoteURI returns the address of a note.
func NoteURI(key string) string {
	segments := strings.Split(key, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return noteRoot + strings.Join(segments, "/")
}

// Read implements mcpserver.Library.
func (l *Library) Read(ctx context.Context, uri string) ([]*a2a.Part, error) {
	at, ok := parse(uri)
	switch {
	case !ok:
		return nil, mcpserver.ErrNoResource
	case at.key != "":
		return l.note(ctx, at.key)
	}
	body, err := l.get(ctx, "/v1/a2a/tasks/"+url.PathEscape(string(at.task)), nil)
	if err != nil {
		return nil, err
	}
	mark := labels{l.Guard, l.performer(ctx, at.task)}
	if at.artifact == "" {
		if body, err = mark.task(body); err != nil {
			return nil, fmt.Errorf("read task %s: %w", at.task, err)
		}
		return []*a2a.Part{textPart(string(body), mediaJSON)}, nil
	}
	t, err := task.DecodeTask(body)
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", at.task, err)
	}
	for _, a := range t.Artifacts {
		if a.ID == at.artifact {
			return mark.parts(a.Parts), nil
		}
	}
	return nil, mcpserver.ErrNoResource
}

// performer returns the agent of a task as the author of its texts.
func (l *Library) performer(ctx context.Context, id a2a.TaskID) guard.Origin {
	var info struct{ Agent string }
	body, err := l.get(ctx, "/api/v1/tasks/"+url.PathEscape(string(id)), nil)
	if err != nil || json.Unmarshal(body, &info) != nil || info.Agent == "" {
		return guard.Agent("unknown")
	}
	return guard.Agent(info.Agent)
}

func (l *Library) note(ctx context.Context, key string) ([]*a2a.Part, error) {
	n, err := l.Hub.Note(ctx, key) // it waits for the note of a task that has just ended
	if errors.Is(err, hubclient.ErrNotFound) {
		return nil, mcpserver.ErrNoResource
	}
	if err != nil {
		return nil, fmt.Errorf("read the note: %s", l.Guard.Quote(guard.Hub, err.Error()).Text)
	}
	text, media := n.Text(), "text/plain"
	author := hubtools.NoteAuthor(n.Category, n.Key)
	if author == "" && (strings.HasPrefix(n.Key, "session/") || guard.Grave(guard.Screen(text))) {
		author = guard.Note(n.Key) // a model may have saved there the words of others that it has read
	}
	if author != "" && l.Guard.Policy != guard.Off {
		return []*a2a.Part{textPart(l.Guard.Quote(author, text).Text, media)}, nil
	}
	if t := strings.TrimSpace(text); t != "" && strings.ContainsRune("{[", rune(t[0])) && json.Valid([]byte(text)) {
		media = mediaJSON
	}
	return []*a2a.Part{textPart(text, media)}, nil
}

func textPart(text, media string) *a2a.Part {
	p := a2a.NewTextPart(text)
	p.MediaType = media
	return p
}

// note is the hub's JSON of a note in a list.
type note struct {
	Key, Preview, Category string
	Size                   int64
}

const (
	tasksPage = 100
	// Cursors: the empty one is for the tasks, others for the notes after a key.
	notesAfter = "notes:"
)

// List implements mcpserver.Library.
func (l *Library) List(ctx context.Context, cursor string) ([]mcpserver.Resource, string, error) {
	if cursor == "" {
		page, err := l.tasks(ctx)
		return page, notesAfter, err
	}
	after, ok := strings.CutPrefix(cursor, notesAfter)
	if !ok {
		return nil, "", fmt.Errorf("invalid cursor %q", cursor)
	}
	return l.notes(ctx, after)
}

func (l *Library) tasks(ctx context.Context) ([]mcpserver.Resource, error) {
	body, err := l.get(ctx, "/v1/a2a/tasks", url.Values{"pageSize": {fmt.Sprint(tasksPage)}})
	if err != nil {
		return nil, err
	}
	var found struct {
		Tasks []struct {
			ID     a2a.TaskID
			Status struct{ State a2a.TaskState }
		}
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	page := make([]mcpserver.Resource, 0, len(found.Tasks))
	for _, t := range found.Tasks {
		page = append(page, mcpserver.Resource{
			URI: TaskURI(t.ID), Name: "task " + string(t.ID), MIMEType: mediaJSON,
			Description: client.StateName(t.Status.State),
		})
	}
	return page, nil
}

// notes returns a page of notes. A hub without a working memory has none.
func (l *Library) notes(ctx context.Context, after string) ([]mcpserver.Resource, string, error) {
	body, err := l.get(ctx, "/api/v1/memory", url.Values{"after": {after}})
	if err == mcpserver.ErrNoResource { //nolint:errorlint // of this package, never wrapped
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var found struct {
		Notes []note
		After string
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, "", fmt.Errorf("list notes: %w", err)
	}
	page := make([]mcpserver.Resource, 0, len(found.Notes))
	for _, n := range found.Notes {
		if !guard.IsOrder(strings.Split(n.Key, "/")) {
			page = append(page, l.listed(&n))
		}
	}
	next := ""
	if found.After != "" {
		next = notesAfter + found.After
	}
	return page, next, nil
}

// listed returns the entry of a note. Its address has its key, as one word.
func (l *Library) listed(n *note) mcpserver.Resource {
	r := mcpserver.Resource{URI: NoteURI(n.Key), Name: n.Key, Description: n.Category, Size: n.Size}
	author := cmp.Or(hubtools.NoteAuthor(n.Category, n.Key), guard.Caller)
	if !hubtools.IsPlainKey(n.Key) {
		r.Name = l.Guard.Quote(guard.Caller, n.Key).Text
	}
	switch {
	case n.Category == "" && n.Preview != "":
		r.Description = l.Guard.Quote(author, n.Preview).Text
	case n.Category != "" && !guard.IsName(n.Category):
		r.Description = l.Guard.Quote(guard.Caller, n.Category).Text
	}
	return r
}

// maxAnswer is the largest response of a hub that is read.
const maxAnswer = 64 << 20

// get returns the response to a request, or ErrNoResource.
func (l *Library) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	resp, err := l.Hub.Open(ctx, http.MethodGet, path, query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the hub's answer: %w", err)
	case resp.StatusCode == http.StatusNotFound:
		return nil, mcpserver.ErrNoResource
	case resp.StatusCode != http.StatusOK:
		return nil, l.refusal(resp.Status, body)
	}
	return body, nil
}

func (l *Library) refusal(status string, body []byte) error {
	var answer struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return fmt.Errorf("the hub answers HTTP %s", status)
	}
	return fmt.Errorf("the hub answers: %s", l.Guard.Quote(guard.Hub, answer.Error.Message).Text)
}
