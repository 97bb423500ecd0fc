package natsbus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ContactFile is the name of the file in the data folder of a hub that says how workers on
// the same machine reach its bus.
const ContactFile = "bus.json"

// Contact is what is in it.
type Contact struct {
	// URL is the address of the server, Token what it asks for.
	URL   string `json:"url"`
	Token string `json:"token"`
	// Hub is the hub's key for signatures: see bus.ParseHubKey. It may be empty.
	Hub string `json:"hub,omitempty"`
}

// ReadContact reads a Contact from the file at path. An error that is fs.ErrNotExist means
// that no hub runs there, or that it does not listen.
func ReadContact(path string) (Contact, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Contact{}, err
	}
	var c Contact
	if err := json.Unmarshal(text, &c); err != nil {
		return Contact{}, fmt.Errorf("read %s: %w", path, err)
	}
	if c.URL == "" {
		return Contact{}, fmt.Errorf("read %s: %w", path, errors.New("has no member url"))
	}
	return c, nil
}
