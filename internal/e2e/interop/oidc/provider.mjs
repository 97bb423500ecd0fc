// An OpenID provider, made with oidc-provider, that gives tokens to the client "robot" for
// the audience and with the scopes that it asks for. It prints its address, signs with a
// new key beside the old one after POST /rotate, and ends when its input does.

import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

const keys = [];
let made = 0;

async function addKey() {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  keys.unshift({ ...(await exportJWK(privateKey)), kid: `k${++made}`, alg: 'ES256', use: 'sig' });
  keys.splice(2);
}

const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

async function begin() {
  await addKey();
  const provider = new Provider(issuer, {
    jwks: { keys },
    scopes: ['a2a', 'operate'],
    clients: [{
      client_id: 'robot', client_secret: 'robots-only', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [], token_endpoint_auth_method: 'client_secret_post',
    }],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, audience) => ({
          audience, scope: 'a2a operate', accessTokenTTL: audience.includes('brief') ? 1 : 60,
          accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  return provider.callback();
}

let provide = await begin();
server.on('request', async (req, res) => {
  if (req.method === 'POST' && req.url === '/rotate') {
    provide = await begin();
    res.end();
    return;
  }
  provide(req, res);
});
process.stdout.write(issuer + '\n');
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
