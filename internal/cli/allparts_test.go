package cli

import _ "github.com/parley-a2a/parley/internal/testing/allparts"
