package adminjson

// Caller is the answer of GET /api/v1/caller.
type Caller struct {
	// ID is the principal of the caller, Name its name for people; Name may be empty.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Owner is the owner of the tasks that the caller begins.
	Owner string `json:"owner"`
	// Anonymous is set for a caller without credentials.
	Anonymous bool     `json:"anonymous,omitempty"`
	Roles     []string `json:"roles"`
	// Admin is set if the caller may read the tasks of all owners.
	Admin bool `json:"admin,omitempty"`
}
