package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/task"
)

// View is a view of the working memory from one place in it. A relative key is below Place. A
// key that begins with a slash is absolute, and must be below Place or one of the places in
// Open. A View is safe for concurrent use.
type View struct {
	// Notes is the working memory. It is required.
	Notes *Notes
	// Owner is the owner of the notes.
	Owner task.Owner
	// Place is the prefix of relative keys, such as "session/main". It is required.
	Place string
	// Open are further places whose notes may be read and set, such as "shared".
	Open []string
	// All opens every place of the owner.
	All bool
}

// Resolve returns the absolute key of a key. The error wraps ErrKey or ErrForeign.
func (v *View) Resolve(key string) (string, error) {
	whole, absolute := strings.CutPrefix(key, "/")
	if !absolute {
		whole = v.Place + "/" + key
	}
	if err := CheckKey(whole); err != nil {
		return "", err
	}
	within := func(place string) bool { return strings.HasPrefix(whole, strings.TrimSuffix(place, "/")+"/") }
	if v.All || within(v.Place) || slices.ContainsFunc(v.Open, within) {
		return whole, nil
	}
	return "", fmt.Errorf("%w: %s is not below %s; leave the slash out to name a note of your own", ErrForeign, key, v.Place)
}

// Set is Notes.Set for a key of the view. It ignores s.Owner.
func (v *View) Set(ctx context.Context, s *Set) (Note, error) {
	key, err := v.Resolve(s.Key)
	if err != nil {
		return Note{}, fmt.Errorf("set note: %w", err)
	}
	mine := *s
	mine.Owner, mine.Key = v.Owner, key
	return v.Notes.Set(ctx, &mine)
}

// Get is Notes.Get for a key of the view.
func (v *View) Get(ctx context.Context, key string) (Note, error) {
	whole, err := v.Resolve(key)
	if err != nil {
		return Note{}, fmt.Errorf("get note: %w", err)
	}
	return v.Notes.Get(ctx, v.Owner, whole)
}

// Delete is Notes.Delete for a key of the view.
func (v *View) Delete(ctx context.Context, key string) error {
	whole, err := v.Resolve(key)
	if err != nil {
		return fmt.Errorf("delete note: %w", err)
	}
	return v.Notes.Delete(ctx, v.Owner, whole)
}
