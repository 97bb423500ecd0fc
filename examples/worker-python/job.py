"""The worker's half of Parley's wire contract (docs/wire.md), without a broker.

A Worker is told what has arrived (work, heard) and that time goes by (tick), and leaves in
`todo` what is to be done at the broker, in order: Publish, Ack, Nak, Extend. It never waits.
Each job runs the agent, a generator of events, in a thread of its own.
"""

import base64, collections, hashlib, json, re, secrets, threading, time, traceback
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Publish = collections.namedtuple("Publish", "kind name id data")  # kind: "queue" or "topic"
Ack = collections.namedtuple("Ack", "delivery")
Nak = collections.namedtuple("Nak", "delivery")
Extend = collections.namedtuple("Extend", "delivery")

MAX_ENVELOPE = 960 << 10
MAX_PIECE = 512 << 10  # bytes of what does not fit into an envelope
MAX_LARGE = 64 << 20  # bytes of such an event, or of such work
MAX_BATCH = 256 << 10  # bytes of events that go together in one report
MAX_WAITING = 1 << 20  # bytes of events that wait for a confirmation
ENDS = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED"}
SIGNED = set("""v id type time source destination replyTo correlation task owner epoch seq
deadline chain principal label trace contentType body""".split())


# Signatures

class Number(str):
    """A number as it stands in the JSON."""


def form(value):
    """The form of a JSON value that is signed, as bytes."""
    if isinstance(value, Number):
        return b"#" + value.encode() + b";"
    if isinstance(value, str):
        text = re.sub("[\ud800-\udfff]", "\ufffd", value).encode()
        return b"%d:" % len(text) + text
    if isinstance(value, list):
        return b"[" + b"".join(map(form, value)) + b"]"
    if isinstance(value, dict):
        return b"{" + b"".join(form(name) + form(value[name]) for name in sorted(value)) + b"}"
    return {True: b"t", False: b"f", None: b"n"}[value]


class Keys:
    """The hubs that the worker trusts: texts HUB:BASE64."""

    def __init__(self, *texts):
        self.keys = {}
        for text in texts:
            hub, _, public = text.partition(":")
            public = base64.b64decode(public, validate=True)
            self.keys[hashlib.sha256(public).hexdigest()[:16]] = hub, Ed25519PublicKey.from_public_bytes(public)

    def verify(self, data):
        """Raises ValueError unless data is an envelope as a trusted hub has signed it."""
        envelope = json.loads(data, parse_int=Number, parse_float=Number)
        signature = envelope.get("signature")
        if not signature:
            raise ValueError("is not signed")
        if signature["key"] not in self.keys:
            raise ValueError(f"key {signature['key']} is not trusted")
        hub, key = self.keys[signature["key"]]
        if envelope.get("source") != "hub/" + hub:
            raise ValueError(f"key {signature['key']} is of hub {hub}")
        signed = {name: value for name, value in envelope.items() if name in SIGNED}
        try:
            key.verify(base64.b64decode(signature["value"]), b"parley-bus-1\n" + form(signed))
        except InvalidSignature:
            raise ValueError("something was changed, or signed with another key") from None


# Events

def status(state, text="", **more):
    """An event that changes the state of the task; state is COMPLETED, INPUT_REQUIRED and so on."""
    value = {"state": "TASK_STATE_" + state}
    if text:
        value["message"] = {"messageId": secrets.token_hex(8), "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"statusUpdate": {"status": value, **more}}


def artifact(id, text, append=False, last=False):
    """An event with an artifact, or with one more chunk of it."""
    return {"artifactUpdate": {"artifact": {"artifactId": id, "parts": [{"text": text}]}, "append": append, "lastChunk": last}}


def ends(event):
    """Whether nothing may follow the event."""
    value = event.get("statusUpdate") or event.get("task") or {}
    return "message" in event or value.get("status", {}).get("state") in ENDS


# Jobs

class Job:
    """One message for the agent. The agent may read it and wait for canceled and stopped."""

    def __init__(self, work, delivery, now):
        self.work, self.delivery, self.body = work, delivery, work["body"]
        self.read()
        self.canceled, self.stopped = threading.Event(), threading.Event()
        self.nonce, self.claimed, self.extended = secrets.token_hex(8), now, now
        self.epoch, self.token, self.lease = 0, None, 30.0  # since the grant
        self.items = collections.deque()  # what is not confirmed: (number, report member, value, size)
        self.last = self.sent = 0  # the last number given, and the last one sent
        self.sent_at, self.over = now, False
        self.content, self.tries, self.asked = bytearray(), 3, None  # of large work; asked: when, until all is there
        self.room = threading.Condition()  # guards items, last and over

    def read(self):
        self.message = self.body.get("message", {})
        self.text = "".join(part.get("text", "") for part in self.message.get("parts", []))
        self.task = self.body.get("task")  # the task so far, on a further message
        # whose work it is, as the hub has signed it: id, owner, and displayName, org, roles, claims if there are any
        self.caller = {"id": "local", **(self.work.get("principal") or {}), "owner": self.work.get("owner", "")}

    def add(self, member, value, end):
        """Called by the agent's thread: number what it says; wait while too much is not confirmed."""
        text = json.dumps(value).encode()
        items = [(member, value, len(text))]
        if len(text) > MAX_LARGE:
            items, end = [("error", f"{len(text)} bytes at once, {MAX_LARGE} are allowed", 100)], True
        elif member == "events" and len(text) > MAX_PIECE:
            sum_, offsets = hashlib.sha256(text).digest(), range(0, len(text), MAX_PIECE)
            large = {"id": sum_.hex()[:32], "size": len(text), "sha256": base64.b64encode(sum_).decode()}
            pieces = [{"blob": large["id"], "offset": at, "data": base64.b64encode(text[at:at + MAX_PIECE]).decode()} for at in offsets]
            items = [("piece", {"large": large, "piece": piece}, MAX_BATCH) for piece in pieces]  # alone in a report
        with self.room:
            self.room.wait_for(lambda: self.stopped.is_set() or sum(i[3] for i in self.items) < MAX_WAITING)
            if not self.over:
                self.over = end
                for item in items:
                    self.last += 1
                    self.items.append((self.last, *item))
            return not self.over

    def confirmed(self, number):
        with self.room:
            while self.items and self.items[0][0] <= number:
                self.items.popleft()
            self.room.notify_all()

    def stop(self):
        with self.room:
            self.over = True
            self.items.clear()
            self.stopped.set()
            self.room.notify_all()


class Worker:
    """Runs the agent name: agent is a function that is given a Job and yields events."""

    def __init__(self, name, agent, keys, card, idempotent=False, wake=lambda: None, clock=time.monotonic):
        self.name, self.agent, self.keys, self.card, self.idempotent = name, agent, keys, card, idempotent
        self.id, self.wake, self.clock = name + "." + secrets.token_hex(8), wake, clock
        self.source, self.topic, self.queue = "worker/" + self.id, "worker." + self.id, "agent.task." + name
        self.jobs = {}  # (hub, owner, task, delivery) → Job
        self.todo = collections.deque()
        self.started, self.beaten, self.left = int(time.time() * 1000), clock(), None
        self.announce()

    # What arrives

    def work(self, data, delivery, number=1):
        """An envelope has arrived at the queue of the agent, for the number-th time; delivery is what to settle."""
        if number > 5:
            return self.bury(data, f"delivered 5 times at queue {self.queue} and never acknowledged", delivery)
        envelope = self.read(data, "agent/" + self.name, delivery)
        if not envelope:
            return
        if envelope["type"] != "job.work" or not isinstance(envelope.get("body"), dict):
            return self.bury(data, f"a worker does not know {envelope['type']} at its queue", delivery)
        if self.left is not None:
            return self.todo.append(Nak(delivery))
        if not 0 < envelope["body"].get("large", {}).get("size", 1) <= MAX_LARGE:
            return self.bury(data, f"large work: {MAX_LARGE} bytes are allowed", delivery)
        key = envelope["source"], envelope.get("owner", ""), envelope["task"], envelope["body"]["delivery"]
        job = self.jobs.setdefault(key, Job(envelope, delivery, self.clock()))
        job.delivery = delivery  # it may have come again
        if not job.epoch:
            self.claim(job)

    def heard(self, data):
        """An envelope has arrived at the topic of the worker."""
        envelope = self.read(data, self.source)
        if not envelope:
            return
        about = envelope["source"], envelope.get("owner", ""), envelope.get("task")
        type, epoch, body = envelope["type"], envelope.get("epoch", 0), envelope.get("body") or {}
        if type == "job.grant" and not any(key[:3] == about for key in self.jobs):  # nobody waits for it any more
            more = {name: envelope[name] for name in ("task", "owner", "epoch") if name in envelope}
            body = {"token": body["token"], "worker": self.id, "givenBack": True}
            self.publish("queue", "hub.report." + about[0].removeprefix("hub/"), "job.report", body, destination=about[0], seq=1, **more)
        for key, job in list(self.jobs.items()):
            if key[:3] != about:
                continue
            if type in ("job.grant", "job.denial"):
                if body.get("nonce") == job.nonce and job.epoch in (0, epoch):
                    self.answered(job, type, epoch, body)
            elif epoch and job.epoch == epoch:
                self.told(job, type, envelope.get("seq", 0), body)

    def answered(self, job, type, epoch, body):
        if type == "job.grant":
            job.token, job.lease = body["token"], body["lease"] / 1000  # the hub may have made another token
            if not job.epoch:
                job.epoch = epoch
                self.fetch(job) if "large" in job.body else self.begin(job)
        elif not body.get("later") and not job.epoch:
            self.forget(job, Ack)

    def begin(self, job):
        job.asked = None
        threading.Thread(target=self.run, args=(job,), daemon=True).start()

    def piece(self, job, body):
        """A piece of large work has arrived: the next one is asked for, or the job begins."""
        large = job.body.get("large")
        if job.asked is None or body.get("blob") != large["id"] or body.get("offset") != len(job.content):
            return
        job.content += base64.b64decode(body["data"])
        if len(job.content) < large["size"]:
            return self.fetch(job)
        if hashlib.sha256(job.content).digest() == base64.b64decode(large["sha256"]):
            job.body.update(json.loads(job.content))
            job.content.clear()
            job.read()
            return self.begin(job)
        job.content.clear()
        job.tries -= 1
        if job.tries:
            return self.fetch(job)
        job.asked = None
        job.add("error", "the message has not arrived as it was sent", True)

    def told(self, job, type, seq, body):
        if type == "job.confirm":
            job.confirmed(seq)
            if body.get("final"):
                self.forget(job, Ack)
        elif type == "job.resend":
            job.sent = 0
            self.report(job)
        elif type == "job.piece":
            self.piece(job, body)
        elif type == "job.cancel":
            job.canceled.set()
        elif type == "job.stop":
            self.forget(job, Ack)

    def reconnected(self, lost=True):
        """The connection was lost and is back; lost says that so are the deliveries, which come again."""
        if lost:
            self.todo = collections.deque(action for action in self.todo if isinstance(action, Publish))
        for job in self.jobs.values():
            job.delivery, job.sent = None if lost else job.delivery, 0

    # What goes out

    def tick(self):
        """To be called every second or so, and whenever wake was called."""
        now = self.clock()
        for job in list(self.jobs.values()):
            if now - job.extended >= 5:
                job.extended = now
                self.settle(job, Extend)
            if job.epoch:
                if job.asked is not None and now - job.asked >= 2:
                    self.fetch(job)
                if job.items and now - job.sent_at >= 10:
                    job.sent = 0
                self.report(job)
            elif now - job.claimed >= 2:
                self.claim(job)
        if now - self.beaten >= min([7.5] + [job.lease / 4 for job in self.jobs.values()]):
            self.beat()
        if now - self.announced >= 120:
            self.announce()

    def claim(self, job):
        job.claimed = self.clock()
        body = {"delivery": job.body["delivery"], "worker": self.id, "nonce": job.nonce, "idempotent": self.idempotent}
        self.publish("topic", job.work["replyTo"], "job.claim", body, job)

    def fetch(self, job):
        job.asked = self.clock()
        body = {"token": job.token, "worker": self.id, "blob": job.body["large"]["id"], "offset": len(job.content)}
        self.publish("topic", job.work["replyTo"], "job.fetch", body, job)

    def beat(self):
        self.beaten = self.clock()
        hubs = collections.defaultdict(list)
        for job in self.jobs.values():
            if job.epoch:
                held = {"task": job.work["task"], "owner": job.work.get("owner", ""), "epoch": job.epoch, "token": job.token}
                hubs[job.work["source"], job.work["replyTo"]].append(held)
        for (hub, topic), held in hubs.items():
            self.publish("topic", topic, "job.beat", {"worker": self.id, "jobs": held}, destination=hub)

    def report(self, job):
        """Sends what was not sent yet, many events in one report."""
        with job.room:
            items = [item for item in job.items if item[0] > job.sent]
        while items:
            first, size, body = items[0][0], 0, {"token": job.token, "worker": self.id}
            while items and (size == 0 or size + items[0][3] < MAX_BATCH):
                number, member, value, length = items.pop(0)
                size += length
                if member == "events":
                    body.setdefault("events", []).append(value)
                elif member == "piece":
                    body.update(value)
                else:
                    body[member] = value
                job.sent, job.sent_at = number, self.clock()
            self.publish("queue", job.body["reports"], "job.report", body, job, seq=first)

    def announce(self):
        """Says what the agent is; also to be called when something arrives at discovery.inquire."""
        self.announced = self.clock()
        body = {"agent": self.name, "card": self.card, "worker": self.id, "idempotent": self.idempotent, "started": self.started}
        self.publish("topic", "discovery.announce", "agent.announce", body, source="agent/" + self.name)

    def leave(self):
        """The worker ends: gives back what it has, and takes nothing. Go on until it is gone."""
        self.left = self.clock()
        for job in list(self.jobs.values()):
            if job.epoch:
                job.stopped.set()
                job.add("givenBack", True, True)
            else:
                self.forget(job, Nak)
        body = {"agent": self.name, "worker": self.id}
        self.publish("topic", "discovery.announce", "agent.leave", body, source="agent/" + self.name)

    def gone(self):
        """Whether there is nothing to wait for after leave."""
        return self.left is not None and not self.todo and (not self.jobs or self.clock() - self.left > 5)

    def publish(self, kind, name, type, body, job=None, **more):
        envelope = {"v": 1, "id": secrets.token_hex(16), "type": type, "time": int(time.time() * 1000), "source": self.source, "replyTo": self.topic}
        if job:
            envelope["destination"] = job.work["source"]
            envelope.update({name: job.work[name] for name in ("task", "owner", "correlation", "trace") if name in job.work})
            if job.epoch:
                envelope["epoch"] = job.epoch
        envelope.update(more, body=body)
        self.todo.append(Publish(kind, name, envelope["id"], json.dumps(envelope, ensure_ascii=False).encode("utf-8", "replace")))

    # What becomes of things

    def read(self, data, me, delivery=None):
        """The envelope in data, or None if it is none that the worker may act on."""
        try:
            envelope = json.loads(data)
            if not isinstance(envelope, dict) or envelope.get("v") != 1 or not all(envelope.get(m) for m in ("id", "type", "source")):
                raise ValueError("not an envelope of version 1")
            if envelope.get("destination") != me:
                raise ValueError(f"for {envelope.get('destination')}, not {me}")
            self.keys.verify(data)
            return envelope
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            if delivery is not None:
                self.bury(data, str(problem) or repr(problem), delivery)

    def bury(self, data, reason, delivery):
        """Puts what nobody can use where people find it."""
        try:
            letter = json.loads(data)
            if letter["v"] != 1 or not all(letter[m] for m in ("id", "type", "source")):
                raise ValueError
            text = data.rstrip()[:-1] + b"," + json.dumps({"reason": reason[:1000], "queue": self.queue}).encode()[1:]
        except (ValueError, KeyError, TypeError, RecursionError):
            letter = {"v": 1, "id": "unreadable-" + hashlib.sha256(data).hexdigest()[:32], "type": "bus.unreadable", "time": int(time.time() * 1000),
                      "source": self.source, "reason": reason[:1000], "queue": self.queue,
                      "body": {"bytes": base64.b64encode(data[:640 << 10]).decode(), "size": len(data)}}
            text = json.dumps(letter).encode()
        self.todo.append(Publish("queue", "dead", letter["id"] + "-dead", text))
        self.todo.append(Ack(delivery))

    def settle(self, job, verdict):
        if job.delivery is not None:
            self.todo.append(verdict(job.delivery))

    def forget(self, job, verdict):
        job.stop()
        self.settle(job, verdict)
        self.jobs = {key: other for key, other in self.jobs.items() if other is not job}

    def run(self, job):
        """The agent's thread."""
        try:
            for event in self.agent(job):
                more = job.add("events", event, ends(event))
                self.wake()
                if not more or job.stopped.is_set():
                    return
            if job.canceled.is_set():
                job.add("events", status("CANCELED"), True)
            else:
                job.add("error", "the agent has ended without a final event", True)
        except Exception:
            job.add("error", traceback.format_exc(limit=-3), True)
        finally:
            self.wake()
