package card

import "github.com/a2aproject/a2a-go/v2/a2a"

// ClientTaskIDs is the URI of the extension with which a server declares that callers may
// choose the ids of new tasks. The protocol reserves this to the server (specification §3.4.2).
// With the extension, a message with an unknown taskId creates a task with that id if its
// sender activates the extension. The parameter "bindings" lists the bindings that accept such
// ids; without it all bindings do.
const ClientTaskIDs = "https://github.com/parley-a2a/parley/blob/main/docs/client-task-ids.md#v1"

// ClientTaskIDsExtension returns the declaration of ClientTaskIDs for a hub, which accepts such
// ids over HTTP+JSON only.
func ClientTaskIDsExtension() a2a.AgentExtension {
	return a2a.AgentExtension{
		URI:         ClientTaskIDs,
		Description: "If you name this extension, a message with an unknown taskId creates a task with that id.",
		Params:      map[string]any{"bindings": []any{string(a2a.TransportProtocolHTTPJSON)}},
	}
}
