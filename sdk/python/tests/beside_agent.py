"""An agent beside others at one queue: beside_agent.py URL NAME KEY…

The variable BROKER_CA has the file of an authority for TLS.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

from parley_worker import Event, Job, Worker, completed

worker = Worker(sys.argv[2], url=sys.argv[1], hubs=sys.argv[3:], ca=os.environ.get("BROKER_CA"), idempotent=True)


@worker.agent
async def agent(job: Job) -> AsyncIterator[str | Event]:
    if job.text == "hold":
        print("holding", flush=True)
        await asyncio.Event().wait()
    yield completed(f"Python: {job.text}")


worker.run()
