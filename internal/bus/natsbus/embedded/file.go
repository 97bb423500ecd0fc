package embedded

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// writeContact writes the file atomically, readable for its owner alone.
func writeContact(path string, c natsbus.Contact) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(path, append(text, '\n'), 0o600)
}

// removeContact removes the file, unless another server has written it since.
func removeContact(path string, c natsbus.Contact) error {
	if now, err := natsbus.ReadContact(path); err != nil || now != c {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
