"""What the agents that are served with the Python SDKs have in common."""

import asyncio
import socket
import sys

import uvicorn


def told(message_id, text, *words):
    """Whether a message begins with one of these words, in its text or in its id."""
    return text.startswith(words) or message_id.startswith(words)


def listen():
    """Returns a socket, and the URL that it is reached by."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    return s, f"http://127.0.0.1:{s.getsockname()[1]}"


async def serve(app, web, url, rpc):
    """Serves an application and gRPC until the input ends."""
    await rpc.start()
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[web]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(url, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await running
    await rpc.stop(None)
