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
	// Period is the time for which a key signs.
	Period = 90 * 24 * time.Hour
	// overlap is the time for which a key is published before and after it signs. It is longer
	// than verifiers cache key sets.
	overlap = 24 * time.Hour
	// maxFile limits the size of the file, in bytes.
	maxFile = 16 << 10
)

// Keys are the hub's signing keys for assertions, stored in a file.
type Keys struct {
	path string

	mu  sync.Mutex     // guards the fields below, and the file
	all []scheduledKey // sorted by from; never empty
	set []byte         // the public keys as a key set
}

// scheduledKey is a key with the time at which it begins to sign.
type scheduledKey struct {
	key  *token.Key
	from time.Time
}

// entry is a key in the file.
type entry struct {
	Key  []byte    `json:"key"` // PKCS #8
	From time.Time `json:"from"`
}

// file is the content of the file, as JSON.
type file struct {
	Keys []entry `json:"keys"`
}

// Load reads the keys at path. If the file does not exist, Load creates it with one key.
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
		return fmt.Errorf("has %d bytes, which is too large for keys", size)
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
		k.all = append(k.all, scheduledKey{key, e.From})
	}
	if len(k.all) == 0 {
		return errors.New("has no keys; restore it, or remove it for a new key")
	}
	slices.SortFunc(k.all, func(a, b scheduledKey) int { return a.from.Compare(b.from) })
	return k.publish(k.all)
}

// publish activates a list of keys and its key set.
func (k *Keys) publish(all []scheduledKey) error {
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

// add creates a key that signs from a time on, stores it, and then publishes it.
func (k *Keys) add(from time.Time) error {
	key, err := token.NewKey()
	if err != nil {
		return err
	}
	return k.keep(append(slices.Clone(k.all), scheduledKey{key, from}))
}

// keep stores a list of keys, and then publishes it.
func (k *Keys) keep(all []scheduledKey) error {
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

// Key returns the current signing key.
func (k *Keys) Key() (*token.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err := k.renewLocked(now); err != nil {
		return nil, err
	}
	return k.all[k.currentLocked(now)].key, nil
}

// Set returns the published keys as a key set: recent, current and next.
func (k *Keys) Set() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.renewLocked(time.Now()); err != nil {
		return nil, err
	}
	return k.set, nil
}

// currentLocked returns the index of the current key: the last one whose time has come. If the
// clock was set back before all keys, it returns the first one.
func (k *Keys) currentLocked(now time.Time) int {
	for i := len(k.all) - 1; i > 0; i-- {
		if !k.all[i].from.After(now) {
			return i
		}
	}
	return 0
}

// renewLocked creates the next key when it is due, and removes keys that are no longer needed.
// If the file cannot be written, the next call tries again; the current key is used for at most
// two periods.
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
