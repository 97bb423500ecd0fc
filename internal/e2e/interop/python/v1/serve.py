"""The stranger, served with the official Python SDK of v1.0 alone. It prints the URL
above its card, and ends when its input does."""

import asyncio
import pathlib
import sys

import grpc
import httpx
from a2a.helpers import new_text_message, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCard, Message, Part, Role, TaskState, a2a_pb2_grpc
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import stranger  # noqa: E402


def part(**content):
    return ParseDict(content, Part())


class Stranger(AgentExecutor):
    """An agent as somebody who knows only the SDK writes it."""

    async def execute(self, context, event_queue):
        m = context.message
        told = lambda *words: stranger.told(m.message_id, m.parts[0].text if m.parts else "", *words)
        say = lambda text: new_text_message(text, context_id=context.context_id, task_id=context.task_id, role=Role.ROLE_AGENT)
        if told("brief", "tck-message-response"):
            await event_queue.enqueue_event(new_text_message("in short: yes", context_id=context.context_id, role=Role.ROLE_AGENT))
            return
        if not context.current_task:
            await event_queue.enqueue_event(new_task_from_user_message(m))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        if not context.current_task and told("ask", "tck-input-required"):
            await task.requires_input(say("which one?"))
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
        parts = list(m.parts)
        if told("tck-stream-artifact-chunked", "tck-stream-chunked"):
            await task.add_artifact([part(text="one ")], artifact_id="chunks")
            await task.add_artifact([part(text="two")], artifact_id="chunks", append=True, last_chunk=True)
            return
        if told("tck-artifact-file-url"):
            parts = [part(url="https://example.com/a.txt", mediaType="text/plain")]
        elif told("tck-artifact-file"):
            parts = [part(raw="YSBmaWxl")]
        elif told("tck-artifact-data"):
            parts = [part(data={"key": "value"})]
        await task.add_artifact(parts)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    web, url = stranger.listen()
    rpc = grpc.aio.server()
    calls = rpc.add_insecure_port("127.0.0.1:0")
    interface = lambda url, binding: {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}
    card = ParseDict(
        {
            "name": "stranger",
            "description": "An agent of another maker",
            "version": "1",
            "supportedInterfaces": [
                interface(f"{url}/rpc", "JSONRPC"),
                interface(f"{url}/rest", "HTTP+JSON"),
                interface(f"127.0.0.1:{calls}", "GRPC"),
            ],
            "capabilities": {"streaming": True, "pushNotifications": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "talk", "name": "talk", "description": "Talks", "tags": ["talk"]}],
        },
        AgentCard(),
    )
    hooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Stranger(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=hooks,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), hooks),
    )
    app = Starlette(
        routes=[
            *create_agent_card_routes(card, cache_control="max-age=60"),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    await stranger.serve(app, web, url, rpc)


asyncio.run(main())
