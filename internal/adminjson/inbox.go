package adminjson

import "github.com/parley-a2a/parley/internal/inbox"

// InboxList is the answer of GET /api/v1/inbox.
type InboxList struct {
	Items []inbox.Item `json:"items"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Decision is the body of an answer, an approval or a refusal.
type Decision struct {
	Text string `json:"text,omitempty"`
}

// NewQuestion is the body of POST /api/v1/inbox: a question that belongs to no task.
type NewQuestion struct {
	// Key identifies the question among those of its caller: a request with a known key returns
	// the existing question in its current state. If empty, the question is new.
	Key string `json:"key,omitempty"`
	// Text is the question. It is required.
	Text string `json:"text"`
	// Agent is the name of the asking agent, or empty.
	Agent string `json:"agent,omitempty"`
	// TTL is how long the question stays open, such as "24h"; empty means seven days, which is
	// the maximum.
	TTL string `json:"ttl,omitempty"`
}
