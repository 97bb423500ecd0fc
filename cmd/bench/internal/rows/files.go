package rows

import "fmt"

// openFiles makes sure that this process, and those that it starts, may open n files.
func openFiles(n int) error {
	have, err := raiseFiles(uint64(n))
	if err != nil {
		return fmt.Errorf("%s open files are needed and %s allowed: raise the limit with ulimit -n (%w)",
			count(n), count(int(min(have, 1<<40))), err)
	}
	return nil
}
