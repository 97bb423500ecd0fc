package grpcbind

import (
	"fmt"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// taskOf returns the task of a.
func taskOf(a *op.Answer, artifacts bool) (*pb.Task, error) {
	b := a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{History: a.History, Artifacts: artifacts})
	var r reader
	t := r.task(b)
	if r.err != nil {
		return nil, fmt.Errorf("write task %s: %w", a.Head.ID, r.err)
	}
	return t, nil
}

// messageOf returns the bare message of a.
func messageOf(a *engine.Answer) (*pb.Message, error) {
	var r reader
	m := r.message(a.Message)
	if r.err != nil {
		return nil, fmt.Errorf("write message: %w", r.err)
	}
	return m, nil
}

// first returns the first frame of a stream.
func first(a *engine.Answer) (*pb.StreamResponse, error) {
	if a.Message != nil {
		m, err := messageOf(a)
		return &pb.StreamResponse{Payload: &pb.StreamResponse_Message{Message: m}}, err
	}
	t, err := taskOf(&a.Answer, true)
	return &pb.StreamResponse{Payload: &pb.StreamResponse_Task{Task: t}}, err
}

// pageOf returns the answer of ListTasks.
func pageOf(p *op.Page) (*pb.ListTasksResponse, error) {
	out := &pb.ListTasksResponse{
		Tasks:         make([]*pb.Task, len(p.Tasks)),
		NextPageToken: p.NextPageToken,
		PageSize:      int32(p.PageSize),
		TotalSize:     int32(p.TotalSize),
	}
	for i := range p.Tasks {
		var err error
		if out.Tasks[i], err = taskOf(&p.Tasks[i], p.Artifacts); err != nil {
			return nil, err
		}
	}
	return out, nil
}
