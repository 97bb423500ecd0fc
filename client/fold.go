package client

import "github.com/a2aproject/a2a-go/v2/a2a"

// Fold combines the events of a stream. The zero Fold has seen none.
type Fold struct {
	// Task is the task after the events so far; nil before the first one, and for an
	// answer with a bare message.
	Task *a2a.Task
	// Message is the bare message that the agent answered with, or nil.
	Message *a2a.Message

	// continued holds the first parts of the chunks that were appended to an artifact.
	continued map[*a2a.Part]bool
}

// Continues reports whether a part of an artifact continues the text of the part before it, because
// it began a chunk. Texts of other parts are on lines of their own.
func (f *Fold) Continues(p *a2a.Part) bool { return f.continued[p] }

// Apply adds an event. It keeps references to the event's artifacts: the caller must not change
// the event afterwards. An update that precedes the task itself creates a task with the content
// of the update.
func (f *Fold) Apply(event a2a.Event) {
	switch e := event.(type) {
	case *a2a.Message:
		f.Message = e
	case *a2a.Task:
		task := *e
		f.Task = &task
	case *a2a.TaskStatusUpdateEvent:
		f.need(e)
		f.Task.Status = e.Status
	case *a2a.TaskArtifactUpdateEvent:
		f.need(e)
		f.artifact(e)
	}
}

// Result returns the fold as an answer of SendMessage, or nil if there were no events.
func (f *Fold) Result() a2a.SendMessageResult {
	switch {
	case f.Message != nil:
		return f.Message
	case f.Task != nil:
		return f.Task
	}
	return nil
}

func (f *Fold) need(event a2a.Event) {
	if f.Task == nil {
		info := event.TaskInfo()
		f.Task = &a2a.Task{ID: info.TaskID, ContextID: info.ContextID}
	}
}

// artifact replaces an artifact, or appends to it (specification §4.2.2).
func (f *Fold) artifact(e *a2a.TaskArtifactUpdateEvent) {
	if e.Artifact == nil {
		return
	}
	for i, known := range f.Task.Artifacts {
		if known == nil || known.ID != e.Artifact.ID {
			continue
		}
		if e.Append {
			if f.continued == nil {
				f.continued = make(map[*a2a.Part]bool)
			}
			if len(e.Artifact.Parts) > 0 {
				f.continued[e.Artifact.Parts[0]] = true
			}
			known.Parts = append(known.Parts, e.Artifact.Parts...)
		} else {
			for _, p := range known.Parts {
				delete(f.continued, p)
			}
			f.Task.Artifacts[i] = e.Artifact
		}
		return
	}
	f.Task.Artifacts = append(f.Task.Artifacts, e.Artifact)
}
