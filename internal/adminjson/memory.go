package adminjson

import (
	"time"
)

// Note is a note. Lists and search results have a preview in place of the value.
type Note struct {
	Key       string    `json:"key"`
	Value     *string   `json:"value,omitempty"`
	Preview   string    `json:"preview,omitempty"`
	Size      int64     `json:"size"`
	Category  string    `json:"category,omitempty"`
	Tags      []string  `json:"tags,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Score is how well the note matches the search, from 0 to 1.
	Score float64 `json:"score,omitempty"`
}

// Text returns the value, or else the preview in its place.
func (n *Note) Text() string {
	if n.Value != nil && *n.Value != "" {
		return *n.Value
	}
	return n.Preview
}

// NoteList is the answer of GET /api/v1/memory and of /api/v1/memory/search.
type NoteList struct {
	Notes []Note `json:"notes"`
	// After continues the list with ?after=; empty at its end.
	After string `json:"after,omitempty"`
}

// NewNote is the body of PUT /api/v1/memory/note.
type NewNote struct {
	Value    string   `json:"value"`
	Category string   `json:"category,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// TTL is how long the note is kept, such as "5m"; empty means the hub's default.
	TTL string `json:"ttl,omitempty"`
}
