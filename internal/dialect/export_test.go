package dialect

// ErrorTable returns the table of errors.
func ErrorTable() []Row { return errorTable }
