"""An agent: the text comes on standard input, the answer goes to standard output."""

import json
import os
import sys

text = sys.stdin.read().strip()
# The whole message, with its files and metadata, is in this file as JSON.
with open(os.environ["PARLEY_MESSAGE_FILE"], encoding="utf-8") as file:
    message = json.load(file)

if not text:
    print("Which text?")
    sys.exit(3)  # asks the caller; the next message of the task is the answer

print(text[::-1])
print("message", message["messageId"], file=sys.stderr)  # standard error goes to the log
