"""strands-agents calls the hub as a remote agent.

    python judge.py <hub's URL>

Prints a JSON object: the texts that each call has shown, by call.
"""

import asyncio
import json
import sys

from strands.agent.a2a_agent import A2AAgent


async def main(url):
    result = await A2AAgent(endpoint=url).invoke_async("one two three")
    shown = [block["text"] for block in result.message["content"]]
    print(json.dumps({"invoke": shown}))


asyncio.run(main(sys.argv[1]))
