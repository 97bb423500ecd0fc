"""The official Python SDK of v1.0, with its own defaults.

    python judge.py <hub's URL>

Prints a JSON object: the texts that each call has shown, by call.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest


async def texts(client, text):
    message = Message(role=Role.ROLE_USER, message_id=uuid.uuid4().hex, parts=[Part(text=text)])
    artifacts, said = {}, []
    async for event in client.send_message(SendMessageRequest(message=message)):
        kind = event.WhichOneof("payload")
        if kind == "task":
            artifacts = {a.artifact_id: [p.text for p in a.parts] for a in event.task.artifacts}
            said = [p.text for p in event.task.status.message.parts]
        elif kind == "artifact_update":
            a = event.artifact_update.artifact
            artifacts.setdefault(a.artifact_id, []).extend(p.text for p in a.parts)
        elif kind == "status_update":
            said = [p.text for p in event.status_update.status.message.parts]
    return [t for parts in artifacts.values() for t in parts] + said


async def main(url):
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        shown = {}
        for streaming in (False, True):
            client = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)
            shown["stream" if streaming else "send"] = await texts(client, "one two three")
    print(json.dumps(shown))


asyncio.run(main(sys.argv[1]))
