"""Sends a file with the official Python SDK and follows the address of the part that comes
back: prints the SHA-256 of what is there, with and without the key.

    python parts.py <hub's URL> <key>
"""

import asyncio
import hashlib
import json
import sys

import httpx
from a2a import types as a2a
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

url, key = sys.argv[1:]


async def main():
    http = httpx.AsyncClient(timeout=60, headers={"Authorization": f"Bearer {key}"})
    card = await A2ACardResolver(http, f"{url}/a2a/echo").get_agent_card()
    client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
    content = bytes(range(256)) * 4096
    part = a2a.Part(raw=content, filename="a.bin", media_type="application/octet-stream")
    message = a2a.Message(message_id="m", role=a2a.Role.ROLE_USER, parts=[part])
    async for answer in client.send_message(a2a.SendMessageRequest(message=message)):
        task = answer.task
    task = await client.get_task(a2a.GetTaskRequest(id=task.id))
    back = task.artifacts[0].parts[0]
    got = await http.get(back.url)
    ranged = await http.get(back.url, headers={"Range": "bytes=256-511"})
    stranger = await httpx.AsyncClient().get(back.url)
    print(json.dumps({
        "kind": back.WhichOneof("content"),
        "name": back.filename,
        "same": got.content == content,
        "digest": back.metadata["parley.part"]["sha256"] == hashlib.sha256(content).hexdigest(),
        "ranged": ranged.status_code == 206 and ranged.content == bytes(range(256)),
        "stranger": stranger.status_code,
    }))


asyncio.run(main())
