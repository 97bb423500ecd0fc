"""The agent of the bench on the official Python SDK, with its stores in memory, on uvicorn.

It follows the line protocol of package serve: the first line that it prints has its address,
a line of input gets one of output, and it ends with its input."""

import asyncio
import json
import socket
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard, Part
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

CHUNK = "sixty-four bytes of text are about what a model says in a second"


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        if not context.current_task:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        what, _, rest = context.message.parts[0].text.partition(" ")
        if what == "say":
            await task.add_artifact([Part(text=rest)], artifact_id="answer", append=False, last_chunk=True)
        elif what == "chunks":
            for i in range(int(rest)):
                await task.add_artifact(
                    [Part(text=CHUNK)], artifact_id="answer", append=i > 0, last_chunk=i == int(rest) - 1
                )
        else:
            await task.reject()
            return
        await task.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def obey():
    """Answers commands until the input ends. The only one that it knows has no numbers."""
    for line in sys.stdin:
        print(json.dumps({} if line.strip() == "stats" else {"error": f"no command {line.strip()}"}), flush=True)


async def main():
    web = socket.socket()
    web.bind(("127.0.0.1", 0))
    address = f"127.0.0.1:{web.getsockname()[1]}"
    card = ParseDict(
        {
            "name": "bench",
            "description": "Answers a load generator.",
            "version": "1",
            "supportedInterfaces": [{"url": f"http://{address}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
        },
        AgentCard(),
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[web]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps({"addr": address}), flush=True)
    await asyncio.to_thread(obey)
    server.should_exit = True
    await running


asyncio.run(main())
