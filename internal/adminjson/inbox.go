package adminjson

import "github.com/parley-a2a/parley/inbox"

// InboxList is the answer of GET /api/v1/inbox.
type InboxList struct {
	Items []inbox.Item `json:"items"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Decision is what is said with an answer, an approval or a refusal.
type Decision struct {
	Text string `json:"text,omitempty"`
}

// NewQuestion is the body of POST /api/v1/inbox: a question that belongs to no task.
type NewQuestion struct {
	// Key names the question among those of its caller: one with a key that was used is the
	// first one, as it is now. If empty, it is a new one.
	Key string `json:"key,omitempty"`
	// Text is the question. It is required.
	Text string `json:"text"`
	// Agent is who wants to know, or empty.
	Agent string `json:"agent,omitempty"`
	// TTL is how long it waits for an answer, such as "24h"; empty means seven days, which
	// is the longest.
	TTL string `json:"ttl,omitempty"`
}
