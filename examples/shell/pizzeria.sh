#!/bin/sh
read -r text
# There is a task file from the second message on. Exit code 3 asks the caller.
if [ -z "$PARLEY_TASK_FILE" ]; then echo "How large?"; exit 3; fi
echo "One $text pizza is on its way."
