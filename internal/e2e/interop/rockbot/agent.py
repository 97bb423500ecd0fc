"""The stranger as an HTTP agent of RockBot: a card at its own path, and one operation,
which takes an AgentTaskRequest and answers with the AgentTaskResult when the task has
ended or asks for something. It is written from what RockBot's documents say, with nothing
but the standard library, and knows nothing of Parley. It prints the URL above its card,
and ends when its input does.

Beside what such an agent has, GET /states/TASK says how it ended a task."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CARD = {
    "agentName": "stranger",
    "description": "An agent of another maker",
    "version": "1.0",
    "skills": [{"id": "talk", "name": "talk", "description": "Talks"}],
}

states = {}  # by task
asked = set()  # the contexts in which an answer is waited for


def perform(request):
    """Returns the result of a request. A conversation is known by its context alone."""
    context = request.get("contextId")
    text = next((p["text"] for p in request["message"]["parts"] if p.get("kind") == "text"), "")
    state, said = "Completed", text
    if context in asked:
        asked.remove(context)
    elif text == "ask":
        asked.add(context)
        state, said = "InputRequired", "which one?"
    states[request["taskId"]] = state
    return {
        "taskId": request["taskId"],
        "contextId": context,
        "state": state,
        "message": {"role": "agent", "parts": [{"kind": "text", "text": said}]},
    }


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/.well-known/agent.json":
            self.answer(200, CARD)
        elif self.path.startswith("/states/"):
            self.answer(200, {"state": states.get(self.path.removeprefix("/states/"))})
        else:
            self.answer(404, {"title": "Not Found", "status": 404})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/tasks/send":
            self.answer(404, {"title": "Not Found", "status": 404})
            return
        try:
            self.answer(200, perform(json.loads(body)))
        except (ValueError, KeyError, TypeError) as e:
            self.answer(400, {"code": "invalid_request", "message": str(e), "isRetryable": False})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
