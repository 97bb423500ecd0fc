package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/op"
)

const (
	taskTenant = iota
	taskAgentID
	taskID
	taskHistory
	taskMetadata
)

// taskSchema has the fields of the requests about one task.
var taskSchema = a2ajson.NewSchema("tenant", "agentId", "id", "historyLength", "metadata")

// Get reads the params of GetTask (specification §3.1.3).
func (d *Decoder) Get(params []byte) (*op.Get, error) { return decodeGet("", params) }

// GetAt reads GET /tasks/{id}.
func (d *Decoder) GetAt(id a2a.TaskID, query string) (*op.Get, error) {
	params, err := queryObject(taskSchema, query)
	if err != nil {
		return nil, err
	}
	return decodeGet(id, params)
}

func decodeGet(id a2a.TaskID, params []byte) (*op.Get, error) {
	r := &op.Get{ID: id}
	err := decodeTask(&r.Target, &r.ID, params, func(i int, v []byte) error {
		if i == taskHistory {
			return readHistory(&r.HistoryLength, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// decodeTask reads the common fields of all calls about one task and passes the others to more.
func decodeTask(t *op.Target, id *a2a.TaskID, params []byte, more func(i int, v []byte) error) error {
	err := each(taskSchema, params, func(i int, _ string, v []byte) error {
		switch i {
		case taskTenant, taskAgentID:
			return readTenant(t, v)
		case taskID:
			return readTaskID(id, v)
		}
		return more(i, v)
	})
	if err == nil && *id == "" {
		err = required("id")
	}
	return err
}

// Cancel reads the params of CancelTask (specification §3.1.5).
func (d *Decoder) Cancel(params []byte) (*op.Cancel, error) { return decodeCancel("", params) }

// CancelAt reads POST /tasks/{id}:cancel. The body may be empty. Errors are also
// those of Body.
func (d *Decoder) CancelAt(id a2a.TaskID, body []byte) (*op.Cancel, error) {
	params, err := d.optionalBody(body)
	if err != nil {
		return nil, err
	}
	return decodeCancel(id, params)
}

func decodeCancel(id a2a.TaskID, params []byte) (*op.Cancel, error) {
	r := &op.Cancel{ID: id}
	err := decodeTask(&r.Target, &r.ID, params, func(i int, v []byte) (err error) {
		if i == taskMetadata {
			r.Metadata, err = a2ajson.ReadObject(v)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Subscribe reads the params of SubscribeToTask (specification §3.1.6). The binding sets the
// Last-Event-ID, which is not part of the params.
func (d *Decoder) Subscribe(params []byte) (*op.Subscribe, error) {
	return decodeSubscribe("", params)
}

// SubscribeAt reads GET or POST /tasks/{id}:subscribe. The body is optional and may carry a
// tenant; errors are also those of Body.
func (d *Decoder) SubscribeAt(id a2a.TaskID, query string, body []byte) (*op.Subscribe, error) {
	params, err := d.optionalBody(body)
	if err == nil && params == nil {
		params, err = queryObject(taskSchema, query)
	}
	if err != nil {
		return nil, err
	}
	return decodeSubscribe(id, params)
}

func decodeSubscribe(id a2a.TaskID, params []byte) (*op.Subscribe, error) {
	r := &op.Subscribe{ID: id}
	err := decodeTask(&r.Target, &r.ID, params, func(int, []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Extended reads the params of GetExtendedAgentCard (specification §3.1.11).
func (d *Decoder) Extended(params []byte) (*op.ExtendedCard, error) {
	r := &op.ExtendedCard{}
	err := each(taskSchema, params, func(i int, _ string, v []byte) error {
		if i == taskTenant || i == taskAgentID {
			return readTenant(&r.Target, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ExtendedAt reads GET /extendedAgentCard.
func (d *Decoder) ExtendedAt(query string) (*op.ExtendedCard, error) {
	params, err := queryObject(taskSchema, query)
	if err != nil {
		return nil, err
	}
	return d.Extended(params)
}
