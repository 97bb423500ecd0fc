package embedded

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley/bus/natsbus"
)

// writeContact makes the file appear complete, and readable for its owner alone.
func writeContact(path string, c natsbus.Contact) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), natsbus.ContactFile+".*") // has mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
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
