package httpfront

import (
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
)

// serveLegacy answers a request of HTTP+JSON of v0.3, which has paths of its own.
func (x *exchange) serveLegacy() {
	x.in = takeBuffer()
	defer x.release()
	x.operation = x.pathOperation()
	err := dialect.LegacyVersion(x.versions())
	if err == nil {
		err = x.readREST()
	}
	if err == nil {
		err = x.callLegacy()
	}
	if err != nil {
		x.fail(err)
	}
}

func (x *exchange) callLegacy() error {
	params, err := x.front.filler.LegacyAt(x.operation, &dialect.LegacyPath{
		Task: a2a.TaskID(x.route.task), Config: x.route.config,
		Query: x.r.URL.RawQuery, Body: x.in.b,
	})
	if err == nil {
		err = x.shape.Blame(x.operation, x.perform(x.operation, params))
	}
	return err
}

// pathOperation returns the operation of the path and the method.
func (x *exchange) pathOperation() dialect.Operation {
	switch x.route.kind {
	case atSend, atJob:
		return dialect.SendMessage
	case atTasks:
		return dialect.ListTasks
	case atStream:
		return dialect.SendStreamingMessage
	case atCancel:
		return dialect.CancelTask
	case atSubscribe:
		return dialect.SubscribeToTask
	case atExtendedCard:
		return dialect.GetExtendedAgentCard
	case atPushConfigs:
		if x.r.Method == http.MethodPost {
			return dialect.CreatePushConfig
		}
		return dialect.ListPushConfigs
	case atPushConfig:
		if x.r.Method == http.MethodDelete {
			return dialect.DeletePushConfig
		}
		return dialect.GetPushConfig
	}
	return dialect.GetTask
}
