"""The agent of internal/bus/transcripts: transcript_agent.py URL NAME KEY…"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from typing import Any

from parley_worker import Event, Failed, Job, Question, Refused, Worker, artifact, completed, status, working

logging.basicConfig(level=logging.INFO)
worker = Worker(sys.argv[2], url=sys.argv[1], hubs=sys.argv[3:], idempotent=True, drain=0)
how_many = Question("how-many", "how many?", int)


@worker.agent
async def agent(job: Job) -> AsyncIterator[Event | Question[Any] | str]:
    if job.task:
        yield completed(f"{job.text} it is")
        return
    word, _, rest = job.text.partition(" ")
    if word == "echo":
        yield completed(rest)
    elif word == "progress":
        yield "halfway"
        yield completed("done")
    elif word == "stream":
        for n in range(int(rest)):
            yield artifact("numbers", f"{n} ", append=n > 0, last=n == int(rest) - 1)
        yield completed()
    elif word == "ask":
        yield how_many
    elif word == "whoami":
        yield completed(job.caller["id"])
    elif word == "length":
        yield completed(str(len(job.text)))
    elif word == "large":
        yield artifact("large", "x" * int(rest))
        yield completed()
    elif word == "fail":
        raise Failed(rest)
    elif word == "crash":
        raise RuntimeError(rest)
    elif word == "late":
        yield completed()
        yield working()
    elif word == "signin":
        yield status("AUTH_REQUIRED")
    elif word in ("wait", "stubborn"):
        yield "waiting"
        await asyncio.Event().wait()


@worker.on_cancel
async def cancel(job: Job, metadata: dict[str, Any]) -> None:
    if job.text == "stubborn":
        raise Refused("the ship has sailed")


worker.run()
