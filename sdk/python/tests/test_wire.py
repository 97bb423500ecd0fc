"""The contract's own examples: python -m unittest discover -s tests."""

import base64
import json
import pathlib
import re
import unittest

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from parley_worker import _wire

DOCUMENT = pathlib.Path(__file__).parents[3].joinpath("docs/wire.md").read_text()
EXAMPLES = re.findall("\n```json\n(.*?)\n```\n", DOCUMENT, re.S)
KEY = re.search("its\\s+public\\s+key\\s+is\\s+`([^`]*)`", DOCUMENT)[1]
KEY_ID = re.search("its id\\s+`([^`]*)`", DOCUMENT)[1]
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def signed(envelope):
    plain = json.loads(json.dumps(envelope), parse_int=_wire.Number, parse_float=_wire.Number)
    value = PRIVATE.sign(b"parley-bus-1\n" + _wire.form(plain))
    return json.dumps({**envelope, "signature": {"key": KEY_ID, "value": base64.b64encode(value).decode()}})


class Signatures(unittest.TestCase):
    def refused(self, reason, text, *keys):
        with self.assertRaisesRegex(_wire.Invalid, reason, msg=text):
            _wire.Keys(keys or [KEY]).verify(text)

    def test_examples_of_the_document(self):
        seen, accept = 0, _wire.Keys([KEY]).verify
        for text in EXAMPLES:
            envelope = json.loads(text)
            if "signature" not in envelope:
                self.refused("is not signed", text)
                continue
            seen += 1
            accept(text)
            accept(json.dumps(envelope, sort_keys=True, ensure_ascii=False))
            accept(json.dumps({**envelope, "reason": "r", "queue": "q", "of another version": 1}))
            for member in _wire._SIGNED & set(envelope):
                self.refused("", json.dumps({**envelope, member: "another"}))
                self.refused("", json.dumps({name: value for name, value in envelope.items() if name != member}))
        self.assertGreater(seen, 7)

    def test_form(self):
        text = r'{"b": [1.50, true], "a": "\u00e9"}'
        self.assertEqual(_wire.form(json.loads(text, parse_float=_wire.Number)).decode(), "{1:a2:é1:b[#1.50;t]}")
        self.assertIn("`{1:a2:é1:b[#1.50;t]}`", DOCUMENT)
        self.assertEqual(_wire.form(json.loads(r'["\ud800x\ud83d\ude00", null, false]')).decode(), "[8:\ufffdx\U0001f600nf]")

    def test_trust(self):
        text = signed({"v": _wire.VERSION, "id": "1", "type": "t", "source": "hub/7c1e"})
        _wire.Keys([KEY]).verify(text)
        self.refused("is not trusted", text, "7c1e:" + base64.b64encode(bytes(32)).decode())
        self.refused("is of hub other", text, KEY.replace("7c1e", "other"))
        with self.assertRaisesRegex(ValueError, r"hubs\[0\]"):
            _wire.Keys(["7c1e:short"])


class Envelopes(unittest.TestCase):
    def test_depth(self):
        with self.assertRaisesRegex(_wire.Invalid, "decode envelope"):
            _wire.decode(b"[" * 100_000)

    def test_letter(self):
        id, data = _wire.letter(b"[" * 100_000, "too deep", "agent.task.poet", "worker/poet.1")
        letter = json.loads(data)
        self.assertEqual((letter["id"], letter["type"], letter["reason"], letter["body"]["size"]), (id, "bus.unreadable", "too deep", 100_000))


if __name__ == "__main__":
    unittest.main()
