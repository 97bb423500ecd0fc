package console

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// againAction returns the action that sends the first message of a task as a new task. Its form has the id of the new
// message, so that the hub accepts it once.
func (p *page) againAction(h *headView) action {
	text := "The first message of this task goes to " + h.Agent + " as a new task in the same conversation. This task stays as it is. Effects outside the hub may happen twice."
	if !h.Mine {
		text = "The first message of this task goes to " + h.Agent + " as a new task of yours, " + p.caller.Owner + ", and not of " + h.Owner +
			", which does not see it. This task stays as it is. Effects outside the hub may happen twice."
	}
	return action{
		Path: "task/again", Verb: "again", Label: "Send again", Confirm: "Send it again", Title: "Send this message again?",
		Text: text, Fields: []field{{"key", uuid.NewString()}},
	}
}

// sendAgain sends the first message of a task that has ended to the same agent, as a message of the person.
func sendAgain(p *page) error {
	var l adminjson.TaskLog
	if err := p.get(p.logPath("", "limit", 1), &l); err != nil {
		return p.done(err)
	}
	h := p.headOf(&l)
	key := p.r.PostFormValue("key")
	if uuid.Validate(key) != nil || !h.Ended || len(l.Entries) == 0 {
		return p.showTask(http.StatusConflict, "Nothing was sent: the task has not ended, or the form has expired. Reload the page and try again.")
	}
	begun, first := p.hub.sent.begin(p.caller.ID + " " + key)
	if !first {
		if begun == "" {
			return p.showTask(http.StatusConflict, "The message is being sent already.")
		}
		p.hub.see(p.w, p.r, taskURL(begun, ""))
		return nil
	}
	task := ""
	defer func() { p.hub.sent.end(p.caller.ID+" "+key, task) }()
	message, err := p.again(&h, l.Entries[0].Message)
	if err != nil {
		return p.done(err)
	}
	message["messageId"] = key
	r, err := p.request(p.r.Context(), http.MethodPost, "/v1/a2a/"+segment(l.Task.Agent)+"/message:send",
		map[string]any{"message": message, "configuration": map[string]any{"returnImmediately": true}})
	if err != nil {
		return err
	}
	r.Header.Set("Idempotency-Key", key)
	resp, err := p.roundTrip(r)
	if err != nil {
		return p.done(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ Task struct{ ID string } }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return err
	}
	if task = answer.Task.ID; task == "" {
		return p.showTask(http.StatusOK, h.Agent+" has answered with a message, and started no task.")
	}
	p.hub.see(p.w, p.r, taskURL(task, ""))
	return nil
}

// maxSentForms is the number of sent forms that the console remembers.
const maxSentForms = 1000

// sentForms are the forms that were sent, by their keys, with the tasks that they have begun. It is safe for
// concurrent use.
type sentForms struct {
	mu    sync.Mutex // guards the fields below
	tasks map[string]string
	order []string
}

// begin reports whether a form is sent for the first time, and otherwise the task that it has begun; empty while it is
// being sent.
func (s *sentForms) begin(key string) (task string, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if task, there := s.tasks[key]; there {
		return task, false
	}
	if s.tasks == nil {
		s.tasks = make(map[string]string)
	}
	s.tasks[key], s.order = "", append(s.order, key)
	if len(s.order) > maxSentForms {
		delete(s.tasks, s.order[0])
		s.order = s.order[1:]
	}
	return "", true
}

// end notes the task that a form has begun. Without one, the form may be sent again.
func (s *sentForms) end(key, task string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if task != "" {
		s.tasks[key] = task
		return
	}
	delete(s.tasks, key)
	s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
}

// again returns a stored message as a new one. The message of a task of the person stays in its context and refers to
// the task.
func (p *page) again(h *headView, stored json.RawMessage) (map[string]any, error) {
	var old struct {
		Parts      []json.RawMessage
		Metadata   json.RawMessage
		Extensions []string
	}
	if err := json.Unmarshal(stored, &old); err != nil {
		return nil, err
	}
	for i := range old.Parts {
		part, err := p.complete(string(h.TaskID), old.Parts[i])
		if err != nil {
			return nil, err
		}
		old.Parts[i] = part
	}
	message := map[string]any{"role": "ROLE_USER", "parts": old.Parts}
	if old.Metadata != nil {
		message["metadata"] = old.Metadata
	}
	if old.Extensions != nil {
		message["extensions"] = old.Extensions
	}
	if h.Mine {
		message["contextId"], message["referenceTaskIds"] = h.ContextID, []string{string(h.TaskID)}
	}
	return message, nil
}

// complete returns a part of a message of a task with its bytes, if the hub keeps them beside the log.
func (p *page) complete(task string, part json.RawMessage) (json.RawMessage, error) {
	var w wirePart
	if err := json.Unmarshal(part, &w); err != nil {
		return nil, err
	}
	path, size := w.stored(task)
	if path == "" {
		return part, nil
	}
	tooLarge := &refusal{Code: http.StatusUnprocessableEntity, Message: "Nothing was sent: the message has a file that is too large for the console, or that belongs to another owner."}
	if size > maxUpload {
		return nil, tooLarge
	}
	resp, err := p.call(p.r.Context(), http.MethodGet, path, nil)
	if isMissing(err) {
		return nil, tooLarge
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxUpload))
	if err != nil {
		return nil, err
	}
	whole := map[string]any{"raw": base64.StdEncoding.EncodeToString(b)}
	if w.Filename != "" {
		whole["filename"] = w.Filename
	}
	if w.MediaType != "" {
		whole["mediaType"] = w.MediaType
	}
	return json.Marshal(whole)
}
