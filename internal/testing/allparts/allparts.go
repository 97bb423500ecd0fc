// Package allparts adds all parts to the program of a test that imports it.
package allparts

import (
	_ "github.com/parley-a2a/parley/internal/parts/awaken"
	_ "github.com/parley-a2a/parley/internal/parts/protoworkstacean"
)
