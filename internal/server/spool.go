package server

import (
	"errors"
	"fmt"
	"os"
)

// spoolName is the folder of large requests in the data folder.
const spoolName = "incoming"

// openSpool empties the folder of large requests, where a killed hub may have left a file.
func (h *Hub) openSpool() error {
	dir := h.dir.Join(spoolName)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return fmt.Errorf("empty the folder of large requests: %w", err)
	}
	return nil
}
