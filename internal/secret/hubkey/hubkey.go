// Package hubkey keeps what a hub proves with, on the bus, that it is itself: its id and
// its private key, in one file of its data folder. The key of its audit log is made of that.
//
// # Guarantees
//
// [Load] makes both when there is no file, mode 0600, durable before anything is signed.
// From then on they are the same at every start. A file that others may read, or that
// does not hold both, is refused with an error that names it.
//
// # What it does not promise
//
// Who can read the file can speak in the hub's name. A copy of a data folder is the same
// hub: two of them on one broker take each other's reports.
//
// # Concurrency
//
// Only one process may call Load for a folder at one time; package datadir sees to that.
//
// # Testing
//
// [bus.NewSigner] makes keys that nobody keeps.
package hubkey

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// FileName is the name of the file in a data folder.
const FileName = "hub.key"

// maxSize is more than a file may have in bytes.
const maxSize = 4096

// file is what the file holds, as JSON.
type file struct {
	Hub  string `json:"hub"`
	Seed []byte `json:"seed"`
}

// Load returns the signer of the hub whose file is at path. If there is none, the hub gets
// a new id and a new key.
func Load(path string) (*bus.Signer, error) {
	f, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the hub %s: %w", path, err)
	}
	s, err := bus.NewSigner(f.Hub, f.Seed)
	if err != nil {
		return nil, fmt.Errorf("key of the hub %s: %w", path, err)
	}
	return s, nil
}

// Audit returns the key with which the hub whose file is at path signs its audit log. It is
// made of the key of the hub, so that it is the same at every start, and neither signs for
// the other. If there is no file, the hub gets one, as from Load.
func Audit(path string) (ed25519.PrivateKey, error) {
	f, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the hub %s: %w", path, err)
	}
	seed, err := hkdf.Key(sha256.New, f.Seed, nil, "parley audit log", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("key of the hub %s: %w", path, err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func read(path string) (*file, error) {
	size, err := atomicfile.PrivateSize(path)
	if err != nil {
		return nil, err
	}
	if size > maxSize {
		return nil, fmt.Errorf("has %d bytes, more than any key", size)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := new(file)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%w; restore it, or remove it and be a new hub", err)
	}
	if f.Seed == nil {
		return nil, errors.New("has no member seed; restore it, or remove it and be a new hub")
	}
	return f, nil
}

// create makes a file.
func create(path string) (*file, error) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	f := &file{Hub: hex.EncodeToString(id[:]), Seed: make([]byte, ed25519.SeedSize)}
	_, _ = rand.Read(f.Seed)
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.CreatePrivate(path, append(text, '\n')); err != nil {
		return nil, err
	}
	return f, nil
}
