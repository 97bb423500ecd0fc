package sqlitestore

import (
	"encoding/binary"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// columns are those of a head, in the order in which getHead reads them. They need
// the tables tasks t, owners o and scopes s.
const columns = `t.key, t.id, o.name, s.agent, t.context, t.dialect, t.created_at,
	t.shown, t.state, t.status_at, t.status_message,
	t.rev, t.version, t.updated_at, t.asked, t.read, t.epoch, t.seq,
	t.dispatch, t.attempt, t.told, t.cancel_at, t.holder, t.sealed`

// getHead reads a head from a row of columns.
func getHead(s *stmt) task.Head {
	h := task.Head{
		Key:           task.Key(s.getInt()),
		ID:            a2a.TaskID(s.getText()),
		Owner:         task.Owner(s.getText()),
		Agent:         task.Agent(s.getText()),
		ContextID:     s.getText(),
		Dialect:       uint8(s.getInt()),
		CreatedAt:     task.Millis(s.getInt()),
		Shown:         task.Shown(s.getInt()),
		State:         task.State(s.getInt()),
		StatusAt:      task.Millis(s.getInt()),
		StatusMessage: s.getBlob(),
	}
	getRun(s, &h)
	return h
}

func getRun(s *stmt, h *task.Head) {
	h.Rev = s.getInt()
	h.Version = s.getInt()
	h.UpdatedAt = task.Millis(s.getInt())
	h.Asked = s.getInt()
	h.Read = s.getInt()
	h.Run = task.Run{
		Epoch:    s.getInt(),
		Seq:      s.getInt(),
		Dispatch: task.Dispatch(s.getInt()),
		Attempt:  int(s.getInt()),
		Told:     s.getBool(),
	}
	h.CancelAt = task.Millis(s.getInt())
	h.Run.Holder = task.Holder(s.getText())
	sealed, err := decodeSealed(s.getBlob())
	if err != nil && s.err == nil {
		s.err = err
	}
	h.Sealed = sealed
}

// bindRun binds the columns that every change sets, in the order of getRun.
func bindRun(s *stmt, h *task.Head) {
	s.int(h.Rev)
	s.int(h.Version)
	s.int(int64(h.UpdatedAt))
	s.int(h.Asked)
	s.int(h.Read)
	s.int(h.Run.Epoch)
	s.int(h.Run.Seq)
	s.int(int64(h.Run.Dispatch))
	s.int(int64(h.Run.Attempt))
	s.bool(h.Run.Told)
	s.int(int64(h.CancelAt))
	s.text(string(h.Run.Holder))
	s.blob(encodeSealed(h.Sealed))
}

// bindStatus binds the columns that a new status sets.
func bindStatus(s *stmt, h *task.Head) {
	s.int(int64(h.Shown))
	s.int(int64(h.State))
	s.int(int64(h.StatusAt))
	s.blob(h.StatusMessage)
	s.int(int64(ended(h)))
	s.bool(h.Due())
}

// ended returns when the task of h ended or was answered, or zero if it is open.
func ended(h *task.Head) task.Millis {
	switch {
	case h.State.Terminal():
		return max(h.StatusAt, 1)
	case h.Shown == task.Answered:
		return max(h.UpdatedAt, 1)
	}
	return 0
}

var errSealed = fmt.Errorf("sealed artifacts: %w", task.ErrCorrupt)

// encodeSealed writes each id behind its length; nil for none.
func encodeSealed(ids []a2a.ArtifactID) []byte {
	var b []byte
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(len(id)))
		b = append(b, id...)
	}
	return b
}

func decodeSealed(b []byte) ([]a2a.ArtifactID, error) {
	var ids []a2a.ArtifactID
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, errSealed
		}
		ids = append(ids, a2a.ArtifactID(b[n:n+int(size)]))
		b = b[n+int(size):]
	}
	return ids, nil
}
