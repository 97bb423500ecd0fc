"""The stranger, served with the official Python SDK of v0.3 alone. It prints the URL
above its card, and ends when its input does."""

import asyncio
import pathlib
import sys

import grpc
import httpx
from a2a.grpc import a2a_pb2_grpc
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCard, Part
from a2a.utils import new_agent_text_message, new_task
from starlette.applications import Starlette
from starlette.routing import Mount

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import stranger  # noqa: E402


def part(kind, **content):
    return Part.model_validate({"kind": kind, **content})


class Stranger(AgentExecutor):
    """An agent as somebody who knows only the SDK writes it."""

    async def execute(self, context, event_queue):
        m = context.message
        text = m.parts[0].root.text if m.parts and m.parts[0].root.kind == "text" else ""
        told = lambda *words: stranger.told(m.message_id, text, *words)
        say = lambda text: new_agent_text_message(text, context.context_id, context.task_id)
        if told("brief", "tck-message-response"):
            await event_queue.enqueue_event(new_agent_text_message("in short: yes", context.context_id))
            return
        if not context.current_task:
            await event_queue.enqueue_event(new_task(m))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        if not context.current_task and told("ask", "tck-input-required"):
            await task.requires_input(say("which one?"), final=True)
        elif told("tck-reject-task"):
            await task.reject(say("no"))
        elif told("wait", "tck-cancel"):
            await task.start_work(say("waiting"))
            await asyncio.Event().wait()
        else:
            await task.start_work(say("at it"))
            await self.give(task, m, told)
            await task.complete(say("done"))

    async def give(self, task, m, told):
        parts = m.parts
        if told("tck-stream-artifact-chunked", "tck-stream-chunked"):
            await task.add_artifact([part("text", text="one ")], artifact_id="chunks")
            await task.add_artifact([part("text", text="two")], artifact_id="chunks", append=True, last_chunk=True)
            return
        if told("tck-artifact-file-url"):
            parts = [part("file", file={"uri": "https://example.com/a.txt", "mimeType": "text/plain"})]
        elif told("tck-artifact-file"):
            parts = [part("file", file={"bytes": "YSBmaWxl"})]
        elif told("tck-artifact-data"):
            parts = [part("data", data={"key": "value"})]
        await task.add_artifact(parts)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    web, url = stranger.listen()
    rpc = grpc.aio.server()
    calls = rpc.add_insecure_port("127.0.0.1:0")
    card = AgentCard.model_validate(
        {
            "protocolVersion": "0.3.0",
            "name": "stranger",
            "description": "An agent of another maker",
            "version": "1",
            "url": f"{url}/rpc",
            "preferredTransport": "JSONRPC",
            "additionalInterfaces": [
                {"url": f"{url}/rest", "transport": "HTTP+JSON"},
                {"url": f"127.0.0.1:{calls}", "transport": "GRPC"},
            ],
            "capabilities": {"streaming": True, "pushNotifications": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "talk", "name": "talk", "description": "Talks", "tags": ["talk"]}],
        }
    )
    hooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Stranger(),
        task_store=InMemoryTaskStore(),
        push_config_store=hooks,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), hooks),
    )
    app = Starlette(routes=[Mount("/rest", app=A2ARESTFastAPIApplication(card, handler).build())])
    A2AStarletteApplication(card, handler).add_routes_to_app(app, rpc_url="/rpc")
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), rpc)
    await stranger.serve(app, web, url, rpc)


asyncio.run(main())
