package openaifront

import (
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/registry"
)

func init() {
	registry.Register("openaifront", surface.New(func(e *engine.Engine) surface.Surface { return &Front{Engine: e, Since: time.Now()} }))
}
