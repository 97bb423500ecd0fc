"""A client that does with agents what the test client of the sample "helloworld" does, with
the official Python SDK of v1.0 as it comes. It prints what it has seen, by the agents' names.

    python greet.py <hub's URL> <key> <text> <agent>...
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import new_text_message
from a2a.types import GetExtendedAgentCardRequest, Role, SendMessageRequest
from google.protobuf.json_format import MessageToDict

hub, key, text, *agents = sys.argv[1:]


async def events(card, **config):
    client = ClientFactory(ClientConfig(**config)).create(card)
    request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
    return [MessageToDict(event) async for event in client.send_message(request)]


async def extended(card, http):
    client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
    return MessageToDict(await client.get_extended_agent_card(GetExtendedAgentCardRequest()))


async def refused(card, http):
    try:
        await extended(card, http)
    except Exception as err:  # whatever the SDK throws is what its user sees
        return f"{type(err).__name__}: {err}"


async def greet(agent):
    async with httpx.AsyncClient(timeout=60) as http, httpx.AsyncClient(
        timeout=60, headers={"Authorization": f"Bearer {key}"}
    ) as known:
        card = await A2ACardResolver(http, f"{hub}/a2a/{agent}").get_agent_card()
        [sent] = await events(card, streaming=False, httpx_client=http)
        return {
            "card": MessageToDict(card),
            "sent": sent,
            "streamed": await events(card, streaming=True, httpx_client=http),
            "extended": await extended(card, known),
            "refused": await refused(card, http),
        }


async def main():
    print(json.dumps({agent: await greet(agent) for agent in agents}))


asyncio.run(main())
