package tokenexchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// FileName is the name of the file with the keys in a data folder.
const FileName = "assertion.key"

const (
	// Period is how long a key signs.
	Period = 90 * 24 * time.Hour
	// overlap is how long the next key is published before it signs, and the last one after
	// it has signed. It is longer than verifiers keep key sets.
	overlap = 24 * time.Hour
	// maxFile is more than a file may have in bytes.
	maxFile = 16 << 10
)

// Keys are what the hub signs assertions with, in a file.
type Keys struct {
	path string

	mu  sync.Mutex // guards the fields below, and the file
	all []dated    // in the order of From; never empty
	set []byte     // the public ones of all as a key set
}

// dated is a key that signs from a time on.
type dated struct {
	key  *token.Key
	from time.Time
}

// entry is a key in the file.
type entry struct {
	Key  []byte    `json:"key"` // PKCS #8
	From time.Time `json:"from"`
}

// file is what the file holds, as JSON.
type file struct {
	Keys []entry `json:"keys"`
}

// Load reads the keys at path. If there is no file, it makes one with a key.
func Load(path string) (*Keys, error) {
	k := &Keys{path: path}
	err := k.read()
	if errors.Is(err, fs.ErrNotExist) {
		err = k.add(time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("keys of assertions %s: %w", path, err)
	}
	return k, nil
}

func (k *Keys) read() error {
	size, err := atomicfile.PrivateSize(k.path)
	if err != nil {
		return err
	}
	if size > maxFile {
		return fmt.Errorf("has %d bytes, which is too much for keys", size)
	}
	text, err := os.ReadFile(k.path)
	if err != nil {
		return err
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%w; restore it, or remove it for a new key", err)
	}
	for i, e := range f.Keys {
		key, err := token.ParseKey(e.Key)
		if err != nil {
			return fmt.Errorf("key %d %w; restore it, or remove it for a new key", i, err)
		}
		k.all = append(k.all, dated{key, e.From})
	}
	if len(k.all) == 0 {
		return errors.New("has no keys; restore it, or remove it for a new key")
	}
	slices.SortFunc(k.all, func(a, b dated) int { return a.from.Compare(b.from) })
	return k.publish(k.all)
}

// publish makes all the keys that are known, and their set.
func (k *Keys) publish(all []dated) error {
	public := make([]*token.Key, len(all))
	for i := range all {
		public[i] = all[i].key
	}
	set, err := token.KeySet(public...)
	if err == nil {
		k.all, k.set = all, set
	}
	return err
}

// add makes a key that signs from a time on, writes it, and then publishes it.
func (k *Keys) add(from time.Time) error {
	key, err := token.NewKey()
	if err != nil {
		return err
	}
	return k.keep(append(slices.Clone(k.all), dated{key, from}))
}

// keep writes all the keys, and then publishes them.
func (k *Keys) keep(all []dated) error {
	var f file
	for _, d := range all {
		der, err := d.key.Marshal()
		if err != nil {
			return err
		}
		f.Keys = append(f.Keys, entry{der, d.from.UTC()})
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := atomicfile.CreatePrivate(k.path, append(text, '\n')); err != nil {
		return err
	}
	return k.publish(all)
}

// Key returns the key in force.
func (k *Keys) Key() (*token.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err := k.renewLocked(now); err != nil {
		return nil, err
	}
	return k.all[k.currentLocked(now)].key, nil
}

// Set returns the public keys as a key set: those that have signed lately, sign, or will.
func (k *Keys) Set() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.renewLocked(time.Now()); err != nil {
		return nil, err
	}
	return k.set, nil
}

// currentLocked returns the index of the key in force: the last one whose time has come. A
// clock that was set back leaves the first one.
func (k *Keys) currentLocked(now time.Time) int {
	for i := len(k.all) - 1; i > 0; i-- {
		if !k.all[i].from.After(now) {
			return i
		}
	}
	return 0
}

// renewLocked makes the next key if it is time for it, and forgets what is not needed any
// more. A key that cannot be written is tried again the next time; the one in force is used
// until a period is over twice.
func (k *Keys) renewLocked(now time.Time) error {
	i := k.currentLocked(now)
	if i > 0 && now.Sub(k.all[i].from) >= overlap && k.keep(slices.Clone(k.all[i:])) == nil {
		i = 0
	}
	age := now.Sub(k.all[i].from)
	if i < len(k.all)-1 || age < Period-overlap {
		return nil
	}
	err := k.add(now.Add(overlap))
	if err != nil && age < 2*Period {
		return nil
	}
	return err
}
