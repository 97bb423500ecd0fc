package main

// The parts of the program. Without a line, the program is smaller and has all the rest.
import (
	_ "github.com/parley-a2a/parley/internal/parts/aguifront"
	_ "github.com/parley-a2a/parley/internal/parts/awaken"
	_ "github.com/parley-a2a/parley/internal/parts/openaifront"
	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
	_ "github.com/parley-a2a/parley/internal/parts/protoworkstacean"
	_ "github.com/parley-a2a/parley/internal/parts/rockbot"
)
