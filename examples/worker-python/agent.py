"""An agent that shows what agents can do. What it does depends on the first word it gets."""

import os
from job import artifact, status

CARD = {
    "name": "pythonist",
    "description": "Echoes; streams; asks; waits.",
    "version": "1.0.0",
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "echo", "name": "Echo", "description": "Says what it hears.", "tags": ["example"]}],
}


def agent(this):
    """Is given a job and yields events; the last one ends the job."""
    word, _, rest = this.text.partition(" ")
    if this.task:  # a further message: the answer to what it has asked
        yield status("COMPLETED", f"Hello, {this.text}!")
    elif word == "stream":  # an artifact in so many chunks
        count = int(rest)
        for n in range(count):
            yield artifact("numbers", f"{n} ", append=n > 0, last=n == count - 1)
        yield status("COMPLETED", f"{count} numbers")
    elif word == "ask":
        yield status("INPUT_REQUIRED", "What is your name?")
    elif word == "wait":  # until it is canceled
        yield status("WORKING", f"process {os.getpid()} waits")
        this.canceled.wait()
    else:
        yield artifact("echo", this.text, last=True)
        yield status("COMPLETED", this.text)
