package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/op"
)

const (
	pushTenant = iota
	pushAgentID
	pushTaskID
	pushID
	pushURL
	pushToken
	pushAuthentication
	pushPageSize
	pushPageToken
)

// pushSchema is the fields of all requests about push notification configs.
var pushSchema = a2ajson.NewSchema("tenant", "agentId", "taskId", "id", "url", "token",
	"authentication", "pageSize", "pageToken")

const (
	authScheme = iota
	authCredentials
	authSchemes
)

// v0.3 has a list of schemes, and v1.0 clients migrated from v0.3 still send one.
var authenticationSchema = a2ajson.NewSchema("scheme", "credentials", "schemes")

// CreatePush reads the params of CreateTaskPushNotificationConfig (specification
// §3.1.7), which is the config itself.
func (d *Decoder) CreatePush(params []byte) (*op.PushConfig, error) {
	return decodePushConfig("", params)
}

// CreatePushAt reads POST /tasks/{id}/pushNotificationConfigs. Errors are also
// those of Body.
func (d *Decoder) CreatePushAt(id a2a.TaskID, body []byte) (*op.PushConfig, error) {
	if err := d.Body(body); err != nil {
		return nil, err
	}
	return decodePushConfig(id, body)
}

func decodePushConfig(id a2a.TaskID, params []byte) (*op.PushConfig, error) {
	r, err := readPushConfig(id, params)
	if err == nil && r.TaskID == "" {
		err = required("taskId")
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// readPushConfig reads a TaskPushNotificationConfig (specification §4.3.1), which may omit the
// task.
func readPushConfig(id a2a.TaskID, params []byte) (*op.PushConfig, error) {
	r := &op.PushConfig{TaskID: id}
	err := each(pushSchema, params, func(i int, _ string, v []byte) (err error) {
		switch i {
		case pushTenant, pushAgentID:
			err = readTenant(&r.Target, v)
		case pushTaskID:
			err = readTaskID(&r.TaskID, v)
		case pushID:
			r.ID, err = a2ajson.ReadID(v)
		case pushURL:
			err = readInto(&r.URL, v)
		case pushToken:
			err = readInto(&r.Token, v)
		case pushAuthentication:
			err = readAuthentication(r, v)
		}
		return err
	})
	if err == nil && r.URL == "" {
		err = required("url")
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// readAuthentication reads an AuthenticationInfo (specification §4.3.2). Of a list of schemes
// the first one counts, which the caller prefers.
func readAuthentication(r *op.PushConfig, v []byte) error {
	var schemes []string
	err := authenticationSchema.Each(v, func(i int, _ string, v []byte) (err error) {
		switch i {
		case authScheme:
			err = readInto(&r.Scheme, v)
		case authCredentials:
			err = readInto(&r.Credentials, v)
		case authSchemes:
			schemes, err = a2ajson.ReadStrings(v)
		}
		return err
	})
	if r.Scheme == "" && len(schemes) > 0 {
		r.Scheme = schemes[0]
	}
	if err == nil && r.Scheme == "" {
		err = required("scheme")
	}
	return err
}

// PushRef reads the params of GetTaskPushNotificationConfig and
// DeleteTaskPushNotificationConfig (specification §3.1.8 and §3.1.10).
func (d *Decoder) PushRef(params []byte) (*op.PushRef, error) {
	return decodePushRef(op.PushRef{}, params)
}

// PushRefAt reads GET and DELETE /tasks/{id}/pushNotificationConfigs/{configId}.
func (d *Decoder) PushRefAt(id a2a.TaskID, config, query string) (*op.PushRef, error) {
	params, err := queryObject(pushSchema, query)
	if err != nil {
		return nil, err
	}
	return decodePushRef(op.PushRef{TaskID: id, ID: config}, params)
}

func decodePushRef(r op.PushRef, params []byte) (*op.PushRef, error) {
	path := r.ID
	err := each(pushSchema, params, func(i int, _ string, v []byte) error {
		switch i {
		case pushTenant, pushAgentID:
			return readTenant(&r.Target, v)
		case pushTaskID:
			return readTaskID(&r.TaskID, v)
		case pushID:
			id := a2a.TaskID(path)
			err := readTaskID(&id, v)
			r.ID = string(id)
			return err
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case r.TaskID == "":
		return nil, required("taskId")
	case r.ID == "":
		return nil, required("id")
	}
	return &r, nil
}

// PushList reads the params of ListTaskPushNotificationConfigs (specification
// §3.1.9).
func (d *Decoder) PushList(params []byte) (*op.PushList, error) { return decodePushList("", params) }

// PushListAt reads GET /tasks/{id}/pushNotificationConfigs.
func (d *Decoder) PushListAt(id a2a.TaskID, query string) (*op.PushList, error) {
	params, err := queryObject(pushSchema, query)
	if err != nil {
		return nil, err
	}
	return decodePushList(id, params)
}

func decodePushList(id a2a.TaskID, params []byte) (*op.PushList, error) {
	r := &op.PushList{TaskID: id}
	err := each(pushSchema, params, func(i int, _ string, v []byte) (err error) {
		switch i {
		case pushTenant, pushAgentID:
			err = readTenant(&r.Target, v)
		case pushTaskID:
			err = readTaskID(&r.TaskID, v)
		case pushPageSize:
			r.PageSize, err = readCount(v)
		case pushPageToken:
			err = readInto(&r.PageToken, v)
		}
		return err
	})
	if err == nil && r.TaskID == "" {
		err = required("taskId")
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
