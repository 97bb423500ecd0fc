// Package allparts adds all parts to the program of a test that imports it. It has the same imports as
// cmd/parley, and internal/parts checks that both have every part. Tests that run the built command
// do not need it.
package allparts

import (
	_ "github.com/parley-a2a/parley/internal/parts/aguifront"
	_ "github.com/parley-a2a/parley/internal/parts/awaken"
	_ "github.com/parley-a2a/parley/internal/parts/openaifront"
	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
	_ "github.com/parley-a2a/parley/internal/parts/protoworkstacean"
	_ "github.com/parley-a2a/parley/internal/parts/rockbot"
)
