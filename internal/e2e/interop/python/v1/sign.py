"""Signs and verifies agent cards with the official Python SDK: one JSON object a line in, one out.

{"card": …, "sign": {"pem": …, "alg": …, "kid": …}} gives {"card": …};
{"card": …, "verify": {"pem": …, "alg": …}} gives {"ok": …, "error": …}."""

import json
import sys

from a2a.types import AgentCard
from a2a.utils.signing import (
    SignatureVerificationError,
    create_agent_card_signer,
    create_signature_verifier,
)
from google.protobuf.json_format import MessageToDict, ParseDict


def answer(order):
    card = ParseDict(order["card"], AgentCard())
    if "sign" in order:
        how = order["sign"]
        header = {"alg": how["alg"], "kid": how["kid"], "typ": "JOSE", "jku": None}
        signed = create_agent_card_signer(how["pem"], header)(card)
        return {"card": MessageToDict(signed)}
    how = order["verify"]
    try:
        create_signature_verifier(lambda kid, jku: how["pem"], [how["alg"]])(card)
    except SignatureVerificationError as e:
        return {"ok": False, "error": str(e)}
    return {"ok": True}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
