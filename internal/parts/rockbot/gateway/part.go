// Package gateway has the dialects of RockBot over HTTP: that of its gateway, and POST /tasks/send of
// its agents. It is the part of rockbot that an embedder's hub has.
//
// Callers of the gateway use the methods of v1.0 without a version, with the role user, or at "/" with
// an API key. It also reads a message without kinds at "/". Tasks are answered with a message when they
// have ended.
package gateway

import (
	"strings"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/registry"
)

// Name is the name of the part and of the dialect.
const Name = "rockbot"

// Shape is the dialect of the gateway. The number is stored.
const Shape dialect.Shape = 4

func init() {
	registry.Register(Name, &dialect.Dialect{
		Shape: Shape, Name: Name, Version: "1.0",
		Codec: dialect.Codec{
			Request: request,
			Result:  appendResult,
			Frames:  func(whole func() []byte) dialect.Framer { return (&stream{whole}).frames },
			Field:   dialect.PlainField,
		},
		Calls: dialect.Calls{
			Methods: map[string]dialect.Operation{
				"message/send":       dialect.SendMessage,
				"message/stream":     dialect.SendStreamingMessage,
				"message/sendStream": dialect.SendStreamingMessage,
			},
			Unversioned: true, Root: true,
		},
		Serving: dialect.Serving{Messages: true, Aliases: true, OwnCard: true},
		Calling: dialect.Calling{
			Header: "1.0", NoSendHeader: true, Message: dialect.PlainMessage, Part: dialect.ReadPart,
			Others: []dialect.Shape{dialect.V03}, Instead: refusesRole,
		},
		Pushing: dialect.Pushing{Frame: appendFrame, Bearer: true},
	}, dialect.Jobs("rockbot-task", Shape))
}

// refusesRole reports whether a peer called in v1.0 has refused the role of the message.
func refusesRole(code int, message string) bool {
	return code < 0 && strings.Contains(strings.ToLower(message), "role")
}
