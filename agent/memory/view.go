package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/task"
)

// View is the working memory as somebody sees it who has a place of his own in it. A key
// is below his place; one that begins with a slash is a whole key, and must be in his
// place or in one that he was given beside it.
type View struct {
	// Notes are required.
	Notes *Notes
	// Owner is whose memory it is.
	Owner task.Owner
	// Place is what keys without a slash in front are below, such as "session/main". It
	// is required.
	Place string
	// Open are further places whose notes may be read and set, such as "shared".
	Open []string
	// All opens every place of the owner.
	All bool
}

// Resolve returns the whole key of a key, or an error that wraps ErrKey or ErrForeign.
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

// Set is Notes.Set for a key of the view. The owner of s does not matter.
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
