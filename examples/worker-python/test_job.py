"""Tests of job.py: python -m unittest. The hub is played by hand."""

import base64, json, pathlib, re, threading, unittest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
import job

DOCUMENT = pathlib.Path(__file__).parents[2].joinpath("docs/wire.md").read_text()
EXAMPLES = re.findall("\n```json\n(.*?)\n```\n", DOCUMENT, re.S)
KEY = re.search("its\\s+public\\s+key\\s+is\\s+`([^`]*)`", DOCUMENT)[1]
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY_ID = re.search("its id\\s+`([^`]*)`", DOCUMENT)[1]


def signed(envelope):
    plain = json.loads(json.dumps(envelope), parse_int=job.Number, parse_float=job.Number)
    value = PRIVATE.sign(b"parley-bus-1\n" + job.form(plain))
    envelope["signature"] = {"key": KEY_ID, "value": base64.b64encode(value).decode()}
    return json.dumps(envelope).encode()


class Signatures(unittest.TestCase):
    def test_examples_of_the_document(self):
        keys, seen = job.Keys(KEY), 0
        for text in EXAMPLES:
            envelope = json.loads(text)
            if "signature" not in envelope:
                with self.assertRaisesRegex(ValueError, "is not signed"):
                    keys.verify(text)
                continue
            seen += 1
            keys.verify(text)
            keys.verify(json.dumps(envelope, sort_keys=True, ensure_ascii=False))
            keys.verify(json.dumps({**envelope, "reason": "r", "queue": "q", "of another version": 1}))
            for member in job.SIGNED & set(envelope):
                with self.assertRaises(ValueError, msg=member):
                    keys.verify(json.dumps({**envelope, member: "another"}))
                with self.assertRaises(ValueError, msg=member):
                    keys.verify(json.dumps({name: value for name, value in envelope.items() if name != member}))
        self.assertGreater(seen, 7)

    def test_form(self):
        text = r'{"b": [1.50, true], "a": "\u00e9"}'
        self.assertEqual(job.form(json.loads(text, parse_float=job.Number)).decode(), "{1:a2:é1:b[#1.50;t]}")
        self.assertIn("`{1:a2:é1:b[#1.50;t]}`", DOCUMENT)
        self.assertEqual(job.form(json.loads(r'["\ud800x\ud83d\ude00", null, false]')).decode(), "[8:\ufffdx\U0001f600nf]")

    def test_who_is_trusted(self):
        text = signed({"v": 1, "id": "1", "type": "t", "source": "hub/7c1e"})
        with self.assertRaisesRegex(ValueError, "is not trusted"):
            job.Keys().verify(text)
        with self.assertRaisesRegex(ValueError, "is of hub other"):
            job.Keys(KEY.replace("7c1e", "other")).verify(text)


class Hub:
    """A hub and a broker, by hand."""

    def __init__(self, agent, **more):
        self.now, self.ids, self.woken = 1000.0, 0, threading.Semaphore(0)
        self.worker = job.Worker("poet", agent, job.Keys(KEY), {"name": "poet"}, wake=self.woken.release, clock=lambda: self.now, **more)
        self.done()

    def done(self, *types):
        """What the worker has asked for: bodies of its envelopes of these types, and names of settlements."""
        actions, self.worker.todo = self.worker.todo, type(self.worker.todo)()
        found = []
        for action in actions:
            if not isinstance(action, job.Publish):
                found.append((type(action).__name__, action.delivery))
                continue
            envelope = json.loads(action.data)
            assert action.id == envelope["id"] + ("-dead" if action.name == "dead" else "")
            if not types or envelope["type"] in types:
                found.append((envelope["type"], envelope))
        return found

    def say(self, type, body, **more):
        self.ids += 1
        source = {"v": 1, "id": str(self.ids), "type": type, "time": 1, "source": "hub/7c1e", "destination": self.worker.source, "task": "t", "owner": "o"}
        return signed({**source, **more, "body": body})

    def work_for(self, principal, owner):
        body = {"agent": "poet", "delivery": 1, "message": {}}
        self.worker.work(self.say("job.work", body, destination="agent/poet", replyTo="hub.control.7c1e", principal=principal, owner=owner), "d1")
        (held,) = self.worker.jobs.values()
        return held.caller

    def work(self, delivery="d1", **more):
        body = {"agent": "poet", "delivery": 1, "key": "k", "attempt": 1, "contextId": "c", "reports": "hub.report.7c1e", "message": {"parts": [{"text": "hello"}]}, **more}
        self.worker.work(self.say("job.work", body, destination="agent/poet", replyTo="hub.control.7c1e"), delivery)

    def hear(self, type, body, **more):
        self.worker.heard(self.say(type, body, **more))

    def grant(self):
        """Gives work and grants it."""
        self.work()
        (_, claim), = self.done("job.claim")
        self.hear("job.grant", {"nonce": claim["body"]["nonce"], "token": "s", "lease": 30000}, epoch=3)

    def reported(self, count=1):
        """The reports that are there once the agent has said count things more."""
        for _ in range(count):
            assert self.woken.acquire(timeout=10)
        self.worker.tick()
        return [envelope for _, envelope in self.done("job.report")]

    def after(self, seconds):
        self.now += seconds
        self.worker.tick()
        return self.done()


def echo(this):
    yield job.artifact("answer", this.text)
    yield job.status("COMPLETED")


class Jobs(unittest.TestCase):
    def test_a_job(self):
        hub = Hub(echo)
        hub.grant()
        reports = hub.reported(3)  # two events, and the end of the thread
        events = [event for report in reports for event in report["body"]["events"]]
        self.assertEqual([next(iter(event)) for event in events], ["artifactUpdate", "statusUpdate"])
        self.assertEqual((reports[0]["seq"], reports[0]["epoch"], reports[0]["body"]["token"]), (1, 3, "s"))
        hub.hear("job.confirm", {}, epoch=3, seq=1)
        self.assertEqual(hub.done(), [])
        hub.hear("job.confirm", {"final": True}, epoch=3, seq=2)
        self.assertEqual(hub.done(), [("Ack", "d1")])
        self.assertEqual(hub.worker.jobs, {})

    def test_whose_work_it_is(self):
        alice = {"id": "a:alice", "displayName": "Alice", "org": "acme", "roles": ["ops"]}
        self.assertEqual(Hub(echo).work_for(alice, "org:acme"), {**alice, "owner": "org:acme"})
        self.assertEqual(Hub(echo).work_for({"id": "local"}, "local"), {"id": "local", "owner": "local"})
        odd = {"id": "bob\"}\nroles: [admin]"}
        self.assertEqual(Hub(echo).work_for(odd, odd["id"]), {**odd, "owner": odd["id"]})

    def test_claims_are_repeated(self):
        hub = Hub(echo)
        hub.work()
        (_, first), = hub.done()
        self.assertEqual(hub.after(1), [])
        (_, second), = hub.after(1)
        self.assertEqual(first["body"], second["body"])
        self.assertNotEqual(first["id"], second["id"])
        hub.hear("job.denial", {"nonce": first["body"]["nonce"], "later": True, "reason": "starting"})
        (_, third), = hub.after(2)
        self.assertEqual(first["body"], third["body"])
        hub.hear("job.denial", {"nonce": "another", "reason": "not ours"})
        self.assertEqual(hub.done(), [])
        hub.hear("job.denial", {"nonce": first["body"]["nonce"], "reason": "gone"})
        self.assertEqual(hub.done(), [("Ack", "d1")])

    def test_a_hub_that_is_started_again(self):
        hub = Hub(lambda this: this.stopped.wait(10) and [])
        hub.grant()
        (_, job), = hub.worker.jobs.items()
        hub.hear("job.grant", {"nonce": job.nonce, "token": "new", "lease": 30000}, epoch=3)
        hub.hear("job.grant", {"nonce": job.nonce, "token": "newer", "lease": 30000}, epoch=4)
        (_, beat), = hub.after(7.5)[1:]
        self.assertEqual([(held["epoch"], held["token"]) for held in beat["body"]["jobs"]], [(3, "new")])
        hub.hear("job.stop", {"reason": "r"}, epoch=3)

    def test_a_grant_that_comes_too_late(self):
        hub = Hub(echo)
        hub.hear("job.grant", {"nonce": "n", "token": "s", "lease": 30000}, epoch=3)
        (_, report), = hub.done()
        self.assertEqual((report["task"], report["epoch"], report["seq"], report["body"]["givenBack"]), ("t", 3, 1, True))

    def test_events_are_sent_again(self):
        hub = Hub(echo)
        hub.grant()
        first, = hub.reported(3)
        hub.hear("job.resend", {}, epoch=3, seq=1)
        (_, second), = hub.done()
        self.assertEqual((first["body"], first["seq"]), (second["body"], second["seq"]))
        self.assertNotEqual(first["id"], second["id"])
        self.assertEqual([kind for kind, _ in hub.after(9)], ["Extend", "job.beat"])
        self.assertEqual([kind for kind, _ in hub.after(1)], ["job.report"])
        hub.worker.reconnected()
        self.assertEqual([kind for kind, _ in hub.after(0)], ["job.report"])
        hub.hear("job.confirm", {}, epoch=3, seq=1)
        hub.hear("job.resend", {}, epoch=3, seq=2)
        (_, last), = hub.done()
        self.assertEqual((last["seq"], len(last["body"]["events"])), (2, 1))

    def test_beats(self):
        hub = Hub(lambda this: this.stopped.wait(10) and [])
        hub.grant()
        (_, beat), = hub.after(7.5)[1:]
        self.assertEqual(beat["body"]["jobs"], [{"task": "t", "owner": "o", "epoch": 3, "token": "s"}])
        hub.hear("job.stop", {"reason": "r"}, epoch=2)
        self.assertEqual(hub.done(), [])
        hub.hear("job.stop", {"reason": "r"}, epoch=3)
        self.assertEqual(hub.done(), [("Ack", "d1")])
        self.assertEqual(hub.after(10), [])

    def test_cancel(self):
        def patient(this):
            yield job.status("WORKING")
            this.canceled.wait(10)
        hub = Hub(patient)
        hub.grant()
        self.assertEqual(len(hub.reported(1)), 1)
        hub.hear("job.cancel", {}, epoch=3)
        report, = hub.reported(1)
        self.assertEqual(report["body"]["events"][0]["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED")
        self.assertEqual(report["seq"], 2)

    def test_failure(self):
        def broken(this):
            yield job.status("WORKING")
            raise RuntimeError("no ink")
        hub = Hub(broken)
        hub.grant()
        body = {}
        for report in hub.reported(2):
            body.update(report["body"])
        self.assertIn("no ink", body["error"])

    def test_no_end(self):
        hub = Hub(lambda this: [])
        hub.grant()
        report, = hub.reported(1)
        self.assertEqual(report["body"]["error"], "the agent has ended without a final event")

    def test_nothing_after_the_end(self):
        def talkative(this):
            yield job.status("COMPLETED")
            yield job.status("WORKING")
        hub = Hub(talkative)
        hub.grant()
        self.assertEqual(sum(len(report["body"]["events"]) for report in hub.reported(2)), 1)

    def test_work_that_comes_again(self):
        hub = Hub(echo)
        hub.grant()
        hub.reported(3)
        hub.work("d2")
        self.assertEqual(hub.done(), [])
        hub.hear("job.confirm", {"final": True}, epoch=3, seq=2)
        self.assertEqual(hub.done(), [("Ack", "d2")])

    def test_much_that_is_not_confirmed(self):
        said = []
        def loud(this):
            for n in range(1000):
                said.append(n)
                yield job.artifact("a", "x" * 100000, append=n > 0)
            yield job.status("COMPLETED")
        hub = Hub(loud)
        hub.grant()
        reports = hub.reported(10)
        self.assertLess(len(said), 20)
        self.assertTrue(all(len(json.dumps(report)) < job.MAX_ENVELOPE for report in reports))
        hub.hear("job.confirm", {}, epoch=3, seq=5)
        self.assertTrue(hub.woken.acquire(timeout=10))
        hub.hear("job.stop", {"reason": "enough"}, epoch=3)

    def test_large_work(self):
        hub, heard = Hub(lambda this: [heard.append(this.text), job.status("COMPLETED")][1:]), []
        content = json.dumps({"message": {"parts": [{"text": "x" * 1000}]}}).encode()
        large = {"id": "b", "size": len(content), "sha256": base64.b64encode(job.hashlib.sha256(content).digest()).decode()}
        hub.work(message={}, large=large)
        (_, claim), = hub.done("job.claim")
        hub.hear("job.grant", {"nonce": claim["body"]["nonce"], "token": "s", "lease": 30000}, epoch=3)

        def fetched(offset, data):
            hub.hear("job.piece", {"blob": "b", "offset": offset, "data": base64.b64encode(data).decode()}, epoch=3)
            return [fetch["body"]["offset"] for _, fetch in hub.done("job.fetch")]
        self.assertEqual([fetch["body"] for _, fetch in hub.done("job.fetch")], [{"token": "s", "worker": hub.worker.id, "blob": "b", "offset": 0}])
        self.assertEqual(fetched(0, content[:500]), [500])
        self.assertEqual(fetched(0, content[:500]), [])  # it is there already
        self.assertEqual([kind for kind, _ in hub.after(2)], ["job.fetch"])  # it was lost
        self.assertEqual(fetched(500, b"another"), [507])
        self.assertEqual(fetched(507, content[507:]), [0])  # its hash is another one
        self.assertEqual(fetched(0, content), [])
        report, = hub.reported(2)
        self.assertEqual((heard, report["seq"], len(report["body"]["events"])), (["x" * 1000], 1, 1))

    def test_large_work_that_is_wrong(self):
        hub = Hub(echo)
        hub.work(message={}, large={"id": "b", "size": 2, "sha256": base64.b64encode(bytes(32)).decode()})
        (_, claim), = hub.done("job.claim")
        hub.hear("job.grant", {"nonce": claim["body"]["nonce"], "token": "s", "lease": 30000}, epoch=3)
        for _ in range(3):
            hub.hear("job.piece", {"blob": "b", "offset": 0, "data": "e30="}, epoch=3)
        report, = [report for _, report in hub.after(0) if report["type"] == "job.report"]
        self.assertEqual(report["body"]["error"], "the message has not arrived as it was sent")
        hub.work("d3", large={"id": "b", "size": job.MAX_LARGE + 1, "sha256": ""})
        self.assertEqual([kind for kind, _ in hub.done()], ["job.work", "Ack"])

    def test_large_events(self):
        text = "x" * (job.MAX_PIECE * 2)
        hub = Hub(lambda this: [job.artifact("a", "small"), job.artifact("a", text), job.status("COMPLETED")])
        hub.grant()
        reports = hub.reported(4)
        self.assertEqual([report["seq"] for report in reports], [1, 2, 3, 4, 5])
        self.assertTrue(all(len(json.dumps(report)) < job.MAX_ENVELOPE for report in reports))
        whole = b"".join(base64.b64decode(report["body"]["piece"]["data"]) for report in reports[1:4])
        self.assertEqual(json.loads(whole)["artifactUpdate"]["artifact"]["parts"][0]["text"], text)
        large = reports[1]["body"]["large"]
        self.assertEqual((large["size"], base64.b64decode(large["sha256"])), (len(whole), job.hashlib.sha256(whole).digest()))

    def test_an_event_that_is_too_large(self):
        hub = Hub(lambda this: [job.artifact("a", "x" * job.MAX_LARGE)])
        hub.grant()
        report, = hub.reported(1)
        self.assertIn("67108864 are allowed", report["body"]["error"])

    def test_leaving(self):
        hub = Hub(lambda this: this.stopped.wait(10) and [])
        hub.grant()
        hub.worker.leave()
        self.assertEqual([kind for kind, _ in hub.done()], ["agent.leave"])
        report = hub.reported(1)[0]
        self.assertEqual((report["seq"], report["body"]["givenBack"]), (1, True))
        hub.hear("job.confirm", {"final": True}, epoch=3, seq=1)
        self.assertFalse(hub.worker.gone())
        self.assertEqual(hub.done(), [("Ack", "d1")])
        self.assertTrue(hub.worker.gone())
        hub.work("d2")
        self.assertEqual(hub.done(), [("Nak", "d2")])

    def test_what_is_buried(self):
        hub = Hub(echo)
        stranger = json.loads(hub.say("job.work", {}, destination="agent/poet"))
        stranger["task"] = "forged"
        for data, reason in {
            b"no JSON": "Expecting value",
            b'{"v":2,"id":"1","type":"job.work","source":"hub/7c1e"}': "not an envelope of version 1",
            b"[" * 100000: "",
            hub.say("job.work", {}, destination="agent/other"): "for agent/other, not agent/poet",
            hub.say("job.confirm", {}, destination="agent/poet"): "does not know job.confirm",
            json.dumps(stranger).encode(): "something was changed",
        }.items():
            hub.worker.work(data, "d9")
            (_, letter), settled = hub.done()
            self.assertIn(reason, letter["reason"])
            self.assertEqual((settled, letter["queue"]), (("Ack", "d9"), "agent.task.poet"))
            hub.worker.heard(data)
            self.assertEqual(hub.done(), [])
        hub.worker.work(hub.say("job.work", {}), "d9", 6)
        self.assertEqual([kind for kind, _ in hub.done()], ["job.work", "Ack"])

    def test_announcements(self):
        hub = Hub(echo)
        (kind, announced), = hub.after(120)
        self.assertEqual((kind, announced["source"], announced["body"]["card"]), ("agent.announce", "agent/poet", {"name": "poet"}))


if __name__ == "__main__":
    unittest.main()
