"""An agent that shows the abilities of agents: python agent.py URL NAME HUB:KEY…

The first word of a message selects the behavior.
"""

import asyncio
import os
import sys

from parley_worker import Question, Worker, artifact, completed

skill = {"id": "echo", "name": "Echo", "description": "Repeats the message.", "tags": ["example"]}
url, name, *hubs = sys.argv[1:]
worker = Worker(name, url=url, hubs=hubs, description="Echoes; streams; asks; waits.", card={"skills": [skill]}, idempotent=True, drain=1)
question = Question("name", "What is your name?")


@worker.agent
async def agent(job):
    """Yields events; the last one ends the job. Text is progress."""
    word, _, rest = job.text.partition(" ")
    if job.task:  # a further message: the answer to the question, perhaps that of another worker
        yield completed(f"Hello, {job.text}!")
    elif word == "stream":  # an artifact in so many chunks
        count = int(rest)
        for n in range(count):
            yield artifact("numbers", f"{n} ", append=n > 0, last=n == count - 1)
        yield completed(f"{count} numbers")
    elif word == "ask":
        yield question
    elif word == "wait":  # until the caller cancels
        yield f"process {os.getpid()} waits"
        await asyncio.Event().wait()
    else:
        yield artifact("echo", job.text)
        yield completed(job.text)


worker.run()
