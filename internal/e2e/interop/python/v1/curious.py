"""An agent that asks back, served with the official Python SDK of v1.0 alone. It prints the
URL above its card, and ends when its input does.

What it is told is how it asks: "ask 3" asks three questions and gives the answers back,
"forever" another one each time, "parrot" the same with other spacing, "data" with data."""

import asyncio
import pathlib
import sys

import grpc
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard, Part
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import stranger  # noqa: E402


def part(**content):
    return ParseDict(content, Part())


class Curious(AgentExecutor):
    """Asks as long as it was told to."""

    def __init__(self):
        self.told = {}  # what each task was told, the order first

    async def execute(self, context, event_queue):
        told = self.told.setdefault(context.task_id, [])
        told.append((context.context_id, [p.text for p in context.message.parts]))
        if not context.current_task:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        order, answers = told[0][1][0], told[1:]
        if (asked := self.question(order, len(answers))) is not None:
            await task.requires_input(task.new_agent_message([asked]))
            return
        if any(where != told[0][0] or len(words) != 1 for where, words in answers):
            await task.failed(task.new_agent_message([part(text=f"not one text in one context: {told}")]))
            return
        await task.add_artifact([part(text="\n".join(words[0] for _, words in answers))])
        await task.complete()

    def question(self, order, number):
        word, _, most = order.partition(" ")
        if word == "forever":
            return part(text=f"Question {number + 1}?")
        if word == "parrot":
            return part(text="Which" + " " * (number + 1) + ["One?", "one"][number % 2])
        if word == "data":
            return part(data={"choices": ["red", "blue"]}) if number == 0 else None
        return part(text=f"Question {number + 1}?") if number < int(most) else None

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    web, url = stranger.listen()
    interface = lambda url, binding: {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}
    card = ParseDict(
        {
            "name": "curious",
            "description": "An agent that asks back",
            "version": "1",
            "supportedInterfaces": [interface(f"{url}/rpc", "JSONRPC"), interface(f"{url}/rest", "HTTP+JSON")],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "ask", "name": "ask", "description": "Asks", "tags": ["ask"]}],
        },
        AgentCard(),
    )
    handler = DefaultRequestHandler(agent_executor=Curious(), task_store=InMemoryTaskStore(), agent_card=card)
    app = Starlette(
        routes=[
            *create_agent_card_routes(card, cache_control="max-age=60"),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )
    await stranger.serve(app, web, url, grpc.aio.server())


asyncio.run(main())
