#!/bin/sh
# The message comes on standard input, the answer goes to standard output. Exit code 0 completes
# the task, 3 asks the caller for input, and any other fails the task with standard error.
wc -w | tr -d ' '
