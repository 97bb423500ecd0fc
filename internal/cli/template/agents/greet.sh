#!/bin/sh
# An agent: the message comes on standard input, the answer goes to standard output.
# The environment says more; $PARLEY_MESSAGE_FILE is the whole message as JSON.
read -r text

case "$text" in
hello | hi)
	# Exit code 3 asks the caller; the next message of the task is the answer.
	echo "What is your name?"
	exit 3
	;;
esac

echo "Hello, $text!"
