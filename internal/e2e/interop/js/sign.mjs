// Signs and verifies agent cards with the official JavaScript SDK: one JSON object a line
// in, one out, as python/v1/sign.py.

import { createInterface } from 'node:readline';
import * as sdk from '@a2a-js/sdk';
import { importPKCS8, importSPKI } from 'jose';

console.debug = () => {}; // the SDK tells every signature that does not fit

async function answer({ card, sign, verify }) {
  if (sign) {
    const key = await importPKCS8(sign.pem, sign.alg);
    const signer = sdk.generateAgentCardSignature(key, { alg: sign.alg, kid: sign.kid, typ: 'JOSE' });
    return { card: await signer(card) };
  }
  const key = await importSPKI(verify.pem, verify.alg);
  try {
    await sdk.verifyAgentCardSignature(async () => key)(card);
    return { ok: true };
  } catch (err) {
    return { ok: false, error: err.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + '\n');
}
