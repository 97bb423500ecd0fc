package adminapi

import (
	"maps"
	"slices"
)

// Families returns the families of paths that a policy covers.
func Families() []string { return slices.Collect(maps.Keys(families)) }
