"""google-adk's RemoteA2aAgent calls the hub.

    python judge.py <hub's URL>

Prints a JSON object: the texts that each call has shown, by call.
"""

import asyncio
import json
import sys
import warnings

warnings.filterwarnings("ignore")

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent  # noqa: E402
from google.adk.runners import Runner  # noqa: E402
from google.adk.sessions import InMemorySessionService  # noqa: E402
from google.genai import types  # noqa: E402


async def main(url):
    agent = RemoteA2aAgent(name="hub", agent_card=url + "/.well-known/agent-card.json")
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="judge", user_id="judge")
    runner = Runner(agent=agent, app_name="judge", session_service=sessions)
    said = types.Content(role="user", parts=[types.Part(text="one two three")])
    shown = []
    async for event in runner.run_async(user_id="judge", session_id=session.id, new_message=said):
        if event.error_message:
            raise SystemExit(event.error_message)
        if event.partial or not event.content:
            continue
        shown += [p.text for p in event.content.parts if p.text and not p.thought]
    print(json.dumps({"run": shown}))


asyncio.run(main(sys.argv[1]))
