package testenv

import (
	"flag"
	"fmt"
	"strconv"
)

// Parallel lets up to n tests of a package run in parallel, instead of one for each processor. The flag
// -parallel of go test takes precedence. It is for packages whose tests wait for leases, timeouts
// and other processes most of the time; TestMain calls it before it runs the tests.
func Parallel(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(fmt.Sprintf("testenv: set the number of parallel tests to %d: %v", n, err))
	}
}
