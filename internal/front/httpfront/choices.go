package httpfront

import "github.com/parley-a2a/parley/internal/dialect"

// Choices are answers of HTTP+JSON of v1.0 that the protocol leaves open. Clients of another server
// may depend on how it has chosen.
type Choices struct {
	// Messages gives the status of a completed task the answer as its message, also in streams.
	Messages bool
	// ClientIDs accepts the id of a new task from callers that name a version of the protocol and do
	// not activate the extension.
	ClientIDs bool
	// PlainCard serves agent-card.json with the keys of v1.0 alone and the capability
	// stateTransitionHistory.
	PlainCard bool
	// CardVersion refuses a card to callers that name a version of the protocol that is not served.
	CardVersion bool
	// Error adapts the report of an error, unless it is nil.
	Error func(r *dialect.Report, f *Failure)
}

// Failure is an error of a call over HTTP+JSON.
type Failure struct {
	Err error
	// Action is set if the path names an action of a task that is not served.
	Action bool
	// Subscribe is set for a subscription to a task.
	Subscribe bool
}

// Profile names the choices of a server. It is a part's contribution to the values of the key profile.
type Profile struct {
	Name    string
	Choices Choices
}

// cardVersion refuses a card in a version of the protocol that is not served, if that is chosen.
func (x *exchange) cardVersion() error {
	if !x.front.cfg.Choices.CardVersion || x.route.kind != atCard {
		return nil
	}
	return dialect.Version(x.versions(), dialect.REST)
}
