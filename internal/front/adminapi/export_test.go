package adminapi

import (
	"maps"
	"slices"
)

// Families returns the families that a policy knows.
func Families() []string { return slices.Collect(maps.Keys(families)) }
