package rows

import "fmt"

// openFiles ensures that this process and its children may open n files.
func openFiles(n int) error {
	have, err := raiseFiles(uint64(n))
	if err != nil {
		return fmt.Errorf("%s open files are needed and %s allowed: raise the limit with ulimit -n (%w)",
			count(n), count(int(min(have, 1<<40))), err)
	}
	return nil
}
