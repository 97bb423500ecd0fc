// Package hubkey stores the identity of a hub on the bus: its id and its private key, in one
// file of its data folder. The key of its audit log is derived from that key.
//
// # Guarantees
//
// [Load] creates both if the file does not exist, with mode 0600, durably before the first
// signature. They are the same at every later start. A file that is readable by other users, or
// incomplete, is refused with an error that names it.
//
// # Non-guarantees
//
// A reader of the file can act in the hub's name. A copy of a data folder is the same hub: two
// of them on one broker receive each other's reports.
//
// # Concurrency
//
// Only one process may call Load for a folder at one time, which package datadir ensures.
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

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// FileName is the name of the file in a data folder.
const FileName = "hub.key"

// maxSize limits the size of the file, in bytes.
const maxSize = 4096

// file is the content of the file, as JSON.
type file struct {
	Hub  string `json:"hub"`
	Seed []byte `json:"seed"`
}

// Load returns the signer of the hub from the file at path. If the file does not exist, Load
// creates it with a new id and a new key.
func Load(path string) (*bus.Signer, error) {
	f, err := readOrCreate(path)
	if err != nil {
		return nil, err
	}
	s, err := bus.NewSigner(f.Hub, f.Seed)
	return s, at(path, err)
}

// Secret returns the content of the file at path, from which Parse makes the same signer. Its caller
// seals it before it is stored elsewhere.
func Secret(path string) ([]byte, error) {
	f, err := read(path)
	if err != nil {
		return nil, at(path, err)
	}
	return json.Marshal(f)
}

// Parse returns the signer of the hub with a Secret.
func Parse(secret []byte) (*bus.Signer, error) {
	f := new(file)
	if err := json.Unmarshal(secret, f); err != nil {
		return nil, fmt.Errorf("key of a hub: %w", err)
	}
	return bus.NewSigner(f.Hub, f.Seed)
}

// Audit returns the key for the audit log of the hub from the file at path. It is derived from
// the hub's key, so that it is the same at every start, and signatures by one key are not valid
// for the other. If the file does not exist, Audit creates it like Load.
func Audit(path string) (ed25519.PrivateKey, error) {
	f, err := readOrCreate(path)
	if err != nil {
		return nil, err
	}
	seed, err := hkdf.Key(sha256.New, f.Seed, nil, "parley audit log", ed25519.SeedSize)
	if err != nil {
		return nil, at(path, err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// at adds the path of the file to an error, if there is one.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("key of the hub %s: %w", path, err)
}

func readOrCreate(path string) (*file, error) {
	f, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = create(path)
	}
	return f, at(path, err)
}

func read(path string) (*file, error) {
	size, err := atomicfile.PrivateSize(path)
	if err != nil {
		return nil, err
	}
	if size > maxSize {
		return nil, fmt.Errorf("has %d bytes, which is longer than any key", size)
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

// create creates a file with a new id and key.
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
