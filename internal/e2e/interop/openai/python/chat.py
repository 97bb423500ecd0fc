"""Talks to the agents of a hub with OpenAI's own client, and prints what it sees.

Its arguments are the base URL and a key of the hub. It prints one JSON object.
"""

import json
import sys

import openai

url, key = sys.argv[1:3]
client = openai.OpenAI(base_url=url, api_key=key)
seen = {}


def user(text):
    return {"role": "user", "content": text}


def refused(call):
    """Returns what the client makes of an error."""
    try:
        call()
    except openai.APIStatusError as e:
        return {"error": type(e).__name__, "status": e.status_code, "type": e.type, "param": e.param, "code": e.code}
    return {"error": None}


def whole(**request):
    c = client.chat.completions.create(**request)
    return {"text": c.choices[0].message.content, "finish": c.choices[0].finish_reason, "state": c.metadata["state"]}


def streamed(**request):
    text, finish, state, usage = [], None, None, None
    for chunk in client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **request):
        if chunk.usage:
            usage = chunk.usage.total_tokens
        for choice in chunk.choices:
            if choice.delta.content:
                text.append(choice.delta.content)
            if choice.finish_reason:
                finish, state = choice.finish_reason, chunk.metadata["state"]
    return {"text": text, "finish": finish, "state": state, "usage": usage}


seen["models"] = [m.id for m in client.models.list()]
seen["model"] = client.models.retrieve("echo").owned_by
seen["whole"] = whole(model="echo", messages=[user("good day")])
seen["streamed"] = streamed(model="echo/echo", messages=[user("good day")])
odd = 'héllo 🎉👩\u200d👩\u200d👧 \u202e مرحبا 日本語 e\u0301 \\n "q" <b>&amp; \ttab\nline\r\n\r\ndata: [DONE] \u2028.'
large = " ".join(f"{i}é🎉" * 100 for i in range(1_000))
for name, text in ("odd", odd), ("large", large):
    w, s = whole(model="echo", messages=[user(text)]), streamed(model="echo", messages=[user(text)])
    seen[name] = [w["text"] == text, "".join(s["text"]) == text, s["state"]]
image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}
seen["image"] = whole(model="echo", messages=[user([{"type": "text", "text": "look"}, image])])
seen["question"] = whole(model="interview", messages=[user("begin")])
asked = [user("begin"), {"role": "assistant", "content": seen["question"]["text"]}, user("one")]
seen["answered"] = whole(model="interview", messages=asked)
asked += [{"role": "assistant", "content": seen["answered"]["text"]}, user("two")]
seen["done"] = whole(model="interview", messages=asked)["state"]
seen["kept"] = [whole(model="interview", user="ann", messages=[user(t)])["state"] for t in ("begin", "one", "two")]
seen["unknown"] = refused(lambda: whole(model="ecko", messages=[user("a")]))
seen["two"] = refused(lambda: whole(model="echo", n=2, messages=[user("a")]))
seen["failed"] = refused(lambda: whole(model="breaker", messages=[user("a")]))
try:
    streamed(model="breaker", messages=[user("a")])
except openai.APIError as e:
    seen["broken"] = {"error": type(e).__name__, "code": e.code}
client = openai.OpenAI(base_url=url, api_key="nobody's")
seen["stranger"] = refused(lambda: whole(model="echo", messages=[user("a")]))
print(json.dumps(seen))
