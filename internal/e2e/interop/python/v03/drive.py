"""The official Python SDK of v0.3 as a client. It speaks the line protocol that doc.go
of this folder's grandparent describes.

    python drive.py <hub's URL> <JSONRPC | HTTP+JSON | GRPC>
"""

import pathlib
import sys

import grpc
import httpx
from a2a import types as a2a
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import lines  # noqa: E402

url, binding = sys.argv[1:]
clients = {}


async def client(agent, streaming=False):
    """Returns the client of an agent, found by its card."""
    if (agent, streaming) not in clients:
        http = httpx.AsyncClient(timeout=60)
        base = url if binding == "GRPC" else f"{url}/a2a/{agent}"
        card = await A2ACardResolver(http, base, agent_card_path="/.well-known/agent.json").get_agent_card()
        config = ClientConfig(
            streaming=streaming,
            supported_transports=[binding],
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        clients[agent, streaming] = ClientFactory(config).create(card)
    return clients[agent, streaming]


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def refusal(err):
    match err:
        case A2AClientJSONRPCError():
            return lines.Refused(str(err), code=err.error.code)
        case A2AClientHTTPError():
            return lines.Refused(str(err), status=str(err.status_code))
        case grpc.aio.AioRpcError():
            return lines.Refused(err.details(), status=err.code().name)
    return err


def call(method, request):
    async def run(step):
        try:
            c = await client(step["agent"])
            return plain(await getattr(c, method)(request.model_validate(step["params"])))
        except Exception as err:
            raise refusal(err) from err

    return run


async def events(step, streaming=True):
    try:
        c = await client(step["agent"], streaming)
        if step["op"] == "subscribe":
            all_events = c.resubscribe(a2a.TaskIdParams.model_validate(step["params"]))
        else:
            p = a2a.MessageSendParams.model_validate(step["params"])
            all_events = c.send_message(p.message, configuration=p.configuration, request_metadata=p.metadata)
        async for event in all_events:
            # A pair of the task so far and what changed it, or a message.
            task, update = event if isinstance(event, tuple) else (event, None)
            yield plain(update or task)
    except Exception as err:
        raise refusal(err) from err


async def send(step):
    async for answer in events(step, streaming=False):
        return answer


async def read(step):
    return plain(a2a.Task.model_validate(step["params"]))


lines.main(
    calls={
        "send": send,
        "get": call("get_task", a2a.TaskQueryParams),
        "cancel": call("cancel_task", a2a.TaskIdParams),
        "createPush": call("set_task_callback", a2a.TaskPushNotificationConfig),
        "getPush": call("get_task_callback", a2a.GetTaskPushNotificationConfigParams),
        "read": read,
    },
    streams={"stream": events, "subscribe": events},
)
