package adminapi

import (
	"context"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/task"
)

const (
	// maxWords is the maximum length of the words of a task in characters, and wordBytes that of the text
	// that is looked at for them.
	maxWords  = 80
	wordBytes = 4 << 10
	// maxExcerpt is the maximum size of a row of the log that is read for them, in bytes.
	maxExcerpt = 64 << 10
)

// excerpts sets the first words of the messages and of the answers of tasks that the caller may read: the
// answer is in the head of a task, or in the artifact before its last status. All are read at once.
func (h *Handler) excerpts(ctx context.Context, heads []*task.Head, infos []*adminjson.TaskInfo) error {
	if h.Excerpts == nil || len(heads) == 0 {
		return nil
	}
	at := make([]task.Position, 0, 2*len(heads))
	for i, t := range heads {
		if t.State.Terminal() || t.State.Interrupted() {
			infos[i].Answer = words(t.StatusMessage)
		}
		at = append(at, task.Position{Key: t.Key, Version: 1})
	}
	for i, t := range heads {
		if infos[i].Answer == "" && t.State == task.Completed {
			at = append(at, task.Position{Key: t.Key, Version: t.Version - 1})
		}
	}
	found, err := h.Excerpts.Excerpts(ctx, at, maxExcerpt)
	if err != nil {
		return err
	}
	for i := range heads {
		infos[i].Message = words(found[i].Body)
	}
	last := found[len(heads):]
	for i, t := range heads {
		if infos[i].Answer != "" || t.State != task.Completed {
			continue
		}
		if e := &last[0]; e.Kind == task.Artifact && !e.Append {
			infos[i].Answer = words(e.Body)
		}
		last = last[1:]
	}
	return nil
}

// words returns the beginning of the first text of a message or an artifact on one line, or else the name
// of its first file.
func words(content []byte) string {
	name := ""
	for part := range rawjson.Elements(rawjson.Member(content, "parts")) {
		if text, ok := rawjson.String(rawjson.Member(part, "text")); ok {
			text = strings.ToValidUTF8(text[:min(len(text), wordBytes)], "")
			if text = strings.Join(strings.Fields(text), " "); text != "" {
				return clip.Fit(text, maxWords)
			}
		}
		if file, ok := rawjson.String(rawjson.Member(part, "filename")); ok && name == "" {
			name = clip.Fit(strings.Join(strings.Fields(file), " "), maxWords)
		}
	}
	return name
}
