package adminapi

import (
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// maxWords is the maximum length of the words of a task in characters, and wordBytes that of the text
	// that is looked at for them.
	maxWords  = 80
	wordBytes = 4 << 10
	// maxExcerpt is the maximum size of a row of the log that is read for them, in bytes.
	maxExcerpt = 64 << 10
)

// firstEntries is the number of entries after the first one among which the answer of a task is looked for.
const firstEntries = 8

// excerpts sets the first words of the messages and of the answers of tasks that the caller may read. The
// answer is in the head of a task, or in the first artifact, or in the one before the last status. All are
// read at once.
func (h *Handler) excerpts(r *http.Request, heads []*task.Head, infos []*adminjson.TaskInfo) error {
	if h.Excerpts == nil || len(heads) == 0 {
		return nil
	}
	at := make([]task.Position, 0, (2+firstEntries)*len(heads))
	begin := make([]int, len(heads)+1)
	for i, t := range heads {
		if t.State.Terminal() || t.State.Interrupted() {
			infos[i].Answer = words(t.StatusMessage)
		}
		at = append(at, task.Position{Key: t.Key, Version: 1})
		if infos[i].Answer == "" && t.State == task.Completed {
			for v := int64(2); v < min(t.Version, 2+firstEntries); v++ {
				at = append(at, task.Position{Key: t.Key, Version: v})
			}
			at = append(at, task.Position{Key: t.Key, Version: t.Version - 1})
		}
		begin[i+1] = len(at)
	}
	found, err := h.Excerpts.Excerpts(r.Context(), at, maxExcerpt)
	if err != nil {
		return err
	}
	for i := range heads {
		mine := found[begin[i]:begin[i+1]]
		infos[i].Message, infos[i].TraceURL = words(mine[0].Body), h.traceURL(r, &mine[0])
		if len(mine) > 1 {
			infos[i].Answer = answerOf(mine[1:len(mine)-1], &mine[len(mine)-1])
		}
	}
	return nil
}

// excerpt sets the first words of the message of one task, and the address of its trace.
func (h *Handler) excerpt(r *http.Request, t *task.Head, info *adminjson.TaskInfo) error {
	if h.Excerpts == nil {
		return nil
	}
	found, err := h.Excerpts.Excerpts(r.Context(), []task.Position{{Key: t.Key, Version: 1}}, maxExcerpt)
	if err == nil {
		info.Message, info.TraceURL = words(found[0].Body), h.traceURL(r, &found[0])
	}
	return err
}

// trace sets the address of the trace of one task.
func (h *Handler) trace(r *http.Request, t *task.Head, info *adminjson.TaskInfo) error {
	if h.TraceURL == "" || h.Excerpts == nil {
		return nil
	}
	found, err := h.Excerpts.Excerpts(r.Context(), []task.Position{{Key: t.Key, Version: 1}}, maxExcerpt)
	if err == nil {
		info.TraceURL = h.traceURL(r, &found[0])
	}
	return err
}

// traceURL returns the address of the trace of a task by its first entry, for an administrator.
func (h *Handler) traceURL(r *http.Request, first *task.Entry) string {
	if h.TraceURL == "" || !h.mayRead(r, policy.AdminTasks) {
		return ""
	}
	id := engine.TraceID(first)
	if id == "" {
		return ""
	}
	return strings.ReplaceAll(h.TraceURL, "{trace_id}", id)
}

// answerOf returns the first words of the first artifact in the entries, with the chunks that follow it, or
// else of the last entry. They end with an ellipsis if the entries end within the artifact.
func answerOf(entries []task.Entry, last *task.Entry) string {
	var text string
	var of *task.Entry
	for i := range entries {
		switch e := &entries[i]; {
		case of == nil && e.Kind == task.Artifact && !e.Append:
			of, text = e, firstText(e.Body)
		case of != nil && e.Kind == task.Artifact && e.Append && e.ArtifactID == of.ArtifactID:
			text += firstText(e.Body)
			if i == firstEntries-1 && !e.LastChunk {
				text += "…"
			}
		}
	}
	if short := shorten(text); short != "" {
		return short
	}
	if last.Kind == task.Artifact && !last.Append {
		return words(last.Body)
	}
	return ""
}

// firstText returns the first text of a message or an artifact.
func firstText(content []byte) string {
	for part := range rawjson.Elements(rawjson.Member(content, "parts")) {
		if text, ok := rawjson.String(rawjson.Member(part, "text")); ok {
			return text
		}
	}
	return ""
}

// shorten returns the beginning of a text on one line.
func shorten(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), wordBytes)], "")
	return clip.Fit(strings.Join(strings.Fields(text), " "), maxWords)
}

// words returns the beginning of the first text of a message or an artifact, or else the name of its first
// file.
func words(content []byte) string {
	if text := shorten(firstText(content)); text != "" {
		return text
	}
	for part := range rawjson.Elements(rawjson.Member(content, "parts")) {
		if file, ok := rawjson.String(rawjson.Member(part, "filename")); ok && file != "" {
			return shorten(file)
		}
	}
	return ""
}
