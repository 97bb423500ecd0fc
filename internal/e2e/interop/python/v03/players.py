"""Two players who behave like Alice and Carol of the sample "number_guessing_game" of the
protocol's makers, served with the official Python SDK of v0.3 alone, below the paths /alice
and /carol of one host. It prints the URL of the host, and ends when its input does.

Alice ends a task for each guess. Carol shuffles a history of guesses, gives it as an artifact,
and asks without a word whether it pleases; that a message follows up she knows only by the
tasks that it refers to. Unlike the sample she keeps one history for each task, shuffles by the
same seed, and fails a task whose follow-up does not refer to this very task."""

import asyncio
import json
import pathlib
import random
import sys

import grpc
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard, Part, TextPart
from a2a.utils import get_message_text
from starlette.applications import Starlette

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import stranger  # noqa: E402

SECRET = 31


def text(words):
    return [Part(root=TextPart(text=words))]


class Alice(AgentExecutor):
    """Judges guesses."""

    async def execute(self, context, event_queue):
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.submit()
        await task.add_artifact(text(self.judge(get_message_text(context.message))))
        await task.complete()

    def judge(self, guess):
        if not guess.isdecimal() or not 1 <= int(guess) <= 100:
            return "Please send a number between 1 and 100."
        if int(guess) == SECRET:
            return "correct!"
        return "Go higher" if int(guess) < SECRET else "Go lower"

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).reject()


class Carol(AgentExecutor):
    """Shuffles a history until it pleases."""

    def __init__(self):
        self.tasks = {}  # the history of each, and what shuffles it

    async def execute(self, context, event_queue):
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        words, refers = get_message_text(context.message), context.message.reference_task_ids
        if not refers:
            await self.begin(task, words)
        elif refers != [task.task_id]:
            await task.failed(task.new_agent_message(text(f"{refers} is not my task {task.task_id}")))
        elif words.lower().startswith("well done"):
            await task.complete()
        else:
            await self.shuffle(task)

    async def begin(self, task, words):
        asked = json.loads(words)
        if isinstance(asked, list):
            lines = [f"{n}. {e['guess']} -> {e['response']}" for n, e in enumerate(asked, 1)]
            await task.add_artifact(text("\n".join(["Guesses so far:", *lines])))
            await task.requires_input(final=True)
            return
        self.tasks[task.task_id] = asked["history"], random.Random(1)
        await self.shuffle(task)

    async def shuffle(self, task):
        history, dice = self.tasks[task.task_id]
        dice.shuffle(history)
        await task.add_artifact(text(json.dumps(history)))
        await task.requires_input(final=True)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def join(app, url, name, player):
    card = AgentCard.model_validate(
        {
            "protocolVersion": "0.3.0",
            "name": f"Agent{name.title()}",
            "description": "Plays at guessing numbers",
            "version": "1.0.0",
            "url": f"{url}/{name}/a2a/v1",
            "preferredTransport": "JSONRPC",
            "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": name, "name": name, "description": "Plays", "tags": ["game"]}],
        }
    )
    handler = DefaultRequestHandler(agent_executor=player, task_store=InMemoryTaskStore())
    A2AStarletteApplication(card, handler).add_routes_to_app(
        app, rpc_url=f"/{name}/a2a/v1", agent_card_url=f"/{name}/.well-known/agent-card.json"
    )


async def main():
    web, url = stranger.listen()
    app = Starlette()
    join(app, url, "alice", Alice())
    join(app, url, "carol", Carol())
    await stranger.serve(app, web, url, grpc.aio.server())


asyncio.run(main())
