"""The official Python SDK of v0.3, with its own defaults: the card at its default address, and no
option about versions.

    python judge.py <hub's URL>

Prints a JSON object: the texts that each call has shown, by call.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a import types
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory


async def texts(client, text):
    part = types.Part(root=types.TextPart(text=text))
    message = types.Message(role="user", message_id=uuid.uuid4().hex, parts=[part])
    task = None
    async for event in client.send_message(message):
        task = event[0]
    shown = [p.root.text for a in task.artifacts or [] for p in a.parts]
    if task.status.message:
        shown += [p.root.text for p in task.status.message.parts]
    return shown


async def main(url):
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        shown = {}
        for streaming in (False, True):
            client = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)
            shown["stream" if streaming else "send"] = await texts(client, "one two three")
    print(json.dumps(shown))


asyncio.run(main(sys.argv[1]))
