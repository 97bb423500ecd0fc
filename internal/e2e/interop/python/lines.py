"""The line protocol that doc.go of this folder's parent describes, for asyncio."""

import asyncio
import json
import sys


def say(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Refused(Exception):
    """An error of the protocol, as the SDK gives it."""

    def __init__(self, message, **known):
        super().__init__(message)
        self.known = known


class Driver:
    """Takes steps. Calls answer with an object, streams yield objects."""

    def __init__(self, calls, streams):
        self.calls, self.streams = calls, streams
        self.running = {}

    async def take(self, step):
        try:
            if step["op"] in self.streams:
                async for event in self.streams[step["op"]](step):
                    say({"id": step["id"], "event": event})
                say({"id": step["id"], "end": True})
            else:
                say({"id": step["id"], "result": await self.calls[step["op"]](step)})
        except asyncio.CancelledError:
            pass
        except Refused as err:
            say({"id": step["id"], "error": {"message": str(err), **err.known}})
        except Exception as err:  # whatever the SDK throws is what its user sees
            say({"id": step["id"], "error": {"message": f"{type(err).__name__}: {err}"}})
        finally:
            self.running.pop(step["id"], None)

    async def run(self):
        source = asyncio.StreamReader(limit=1 << 26)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(source), sys.stdin
        )
        while line := await source.readline():
            step = json.loads(line)
            if step["op"] == "stop":
                if running := self.running.get(step["params"]):
                    running.cancel()
            else:
                self.running[step["id"]] = asyncio.create_task(self.take(step))
        left = list(self.running.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def main(calls, streams):
    asyncio.run(Driver(calls, streams).run())
