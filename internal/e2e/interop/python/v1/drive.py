"""The official Python SDK of v1.0 as a client. It speaks the line protocol that doc.go
of this folder's grandparent describes.

    python drive.py <hub's URL> <JSONRPC | HTTP+JSON | GRPC>
"""

import pathlib
import sys

import grpc
import httpx
from a2a import types as a2a
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.utils.errors import A2A_ERROR_REASONS, A2AError
from google.protobuf.json_format import MessageToDict, ParseDict

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import lines  # noqa: E402

url, binding = sys.argv[1:]
clients = {}


async def client(agent, streaming=False):
    """Returns the client of an agent, found by its card."""
    if (agent, streaming) not in clients:
        http = httpx.AsyncClient(timeout=60)
        card = await A2ACardResolver(http, f"{url}/a2a/{agent}").get_agent_card()
        config = ClientConfig(
            streaming=streaming,
            supported_protocol_bindings=[binding],
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        clients[agent, streaming] = ClientFactory(config).create(card)
    return clients[agent, streaming]


def context(step):
    """Names another version of the protocol where the step wants it."""
    version = step.get("version")
    return ClientCallContext(service_parameters={"A2A-Version": version} if version else None)


def refusal(err):
    reason = A2A_ERROR_REASONS.get(type(err))
    return lines.Refused(f"{type(err).__name__}: {err}", **({"reason": reason} if reason else {}))


def call(method, request):
    async def run(step):
        try:
            c = await client(step["agent"])
            answer = await getattr(c, method)(ParseDict(step["params"], request()), context=context(step))
        except A2AError as err:
            raise refusal(err) from err
        return MessageToDict(answer) if answer is not None else {}

    return run


async def send(step):
    async for answer in events(step, "send_message", a2a.SendMessageRequest, streaming=False):
        return answer


async def events(step, method, request, streaming=True):
    try:
        c = await client(step["agent"], streaming)
        async for event in getattr(c, method)(ParseDict(step["params"], request()), context=context(step)):
            yield MessageToDict(event)
    except A2AError as err:
        raise refusal(err) from err


async def read(step):
    return MessageToDict(ParseDict(step["params"], a2a.StreamResponse()))


lines.main(
    calls={
        "send": send,
        "get": call("get_task", a2a.GetTaskRequest),
        "list": call("list_tasks", a2a.ListTasksRequest),
        "cancel": call("cancel_task", a2a.CancelTaskRequest),
        "createPush": call("create_task_push_notification_config", a2a.TaskPushNotificationConfig),
        "getPush": call("get_task_push_notification_config", a2a.GetTaskPushNotificationConfigRequest),
        "listPush": call("list_task_push_notification_configs", a2a.ListTaskPushNotificationConfigsRequest),
        "deletePush": call("delete_task_push_notification_config", a2a.DeleteTaskPushNotificationConfigRequest),
        "read": read,
    },
    streams={
        "stream": lambda step: events(step, "send_message", a2a.SendMessageRequest),
        "subscribe": lambda step: events(step, "subscribe", a2a.SubscribeToTaskRequest),
    },
)
