"""Agents that behave like two samples of the protocol's makers, served with the official
Python SDK of v1.0 alone: the greeter of "helloworld", which has an extended card, and the
three agents of "multitenancy", each below a path of the same host. It prints the URL of the
host, and ends when its input does."""

import asyncio
import pathlib
import sys

import grpc
from a2a.helpers import get_message_text, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard, TaskState
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import stranger  # noqa: E402


def mirrored(text):
    letters = [c for c in text.casefold() if c.isalnum()]
    return f'"{text}" {"is" if letters == letters[::-1] else "is not"} a palindrome.'


# What each agent says to a text, by its path.
answers = {
    "": lambda text: f"Hello, World! I have received your request ({text})",
    "/hello": lambda text: f'Hello, World! You said: "{text}"',
    "/palindrome": mirrored,
    "/reverse": lambda text: "Reversed: " + " ".join(text.split()[::-1]),
}


class Sample(AgentExecutor):
    """Says that it is at work, gives the answer as an artifact, and says that it is done."""

    def __init__(self, answer):
        self.answer = answer

    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.update_status(TaskState.TASK_STATE_WORKING, new_text_message("Processing request..."))
        text = get_message_text(context.message)
        answer = self.answer(text) if text else "No text input is provided!"
        await updater.add_artifact([new_text_part(text=answer, media_type="text/plain")])
        await updater.update_status(TaskState.TASK_STATE_COMPLETED, new_text_message("Request is completed!"))

    async def cancel(self, context, event_queue):
        raise NotImplementedError("It cannot be canceled.")


def skill(name, description):
    return {"id": name, "name": name, "description": description, "tags": ["sample"]}


def card(url, path, skills):
    name = path[1:] or "Hello World Agent"
    return ParseDict(
        {
            "name": name,
            "description": f"Behaves like the sample agent {name}",
            "version": "0.0.1",
            "supportedInterfaces": [{"url": url + (path or "/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": True, "extendedAgentCard": not path},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": skills,
        },
        AgentCard(),
    )


def routes(url, path, answer):
    """Returns the routes of the agent below a path: its card, and its only interface."""
    seen = skill(path[1:] or "echo_bot", "Answers a text")
    public, extended = card(url, path, [seen]), None
    if not path:
        extended = card(url, path, [seen, skill("echo_bot_super_mode", "Answers with zest")])
    handler = DefaultRequestHandler(
        agent_executor=Sample(answer),
        task_store=InMemoryTaskStore(),
        agent_card=public,
        extended_agent_card=extended,
    )
    return [
        *create_agent_card_routes(public, card_url=f"{path}/.well-known/agent-card.json"),
        *create_jsonrpc_routes(handler, path or "/"),
    ]


async def main():
    web, url = stranger.listen()
    app = Starlette(routes=[r for path, answer in answers.items() for r in routes(url, path, answer)])
    await stranger.serve(app, web, url, grpc.aio.server())


asyncio.run(main())
