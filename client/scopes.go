package client

import "encoding/json"

// bareScopes puts the security requirements of a card and its skills into the
// spelling that the SDK reads: {"schemes":{"key":["a"]}} for the protocol's
// {"schemes":{"key":{"list":["a"]}}}. What it does not understand it leaves alone.
func bareScopes(card map[string]json.RawMessage) {
	const key = "securityRequirements"
	respell(card, key)
	var skills []map[string]json.RawMessage
	if json.Unmarshal(card["skills"], &skills) != nil {
		return
	}
	for _, s := range skills {
		respell(s, key)
	}
	if b, err := json.Marshal(skills); err == nil {
		card["skills"] = b
	}
}

// respell does it for one list of requirements.
func respell(members map[string]json.RawMessage, key string) {
	var list []struct {
		Schemes map[string]scopes `json:"schemes"`
	}
	if json.Unmarshal(members[key], &list) != nil {
		return
	}
	if b, err := json.Marshal(list); err == nil {
		members[key] = b
	}
}

// scopes is read in both spellings and written as a bare list.
type scopes []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scopes) UnmarshalJSON(b []byte) error {
	var names []string
	if json.Unmarshal(b, &names) == nil {
		*s = names
		return nil
	}
	var wrapped struct {
		List []string `json:"list"`
	}
	if err := json.Unmarshal(b, &wrapped); err != nil {
		return err
	}
	*s = append(scopes{}, wrapped.List...)
	return nil
}
