package task

// Fold is a whole task, rebuilt from its entries.
type Fold struct{ Version int64 }
