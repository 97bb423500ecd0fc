// An authorization server, made with oidc-provider and jose, that exchanges tokens (RFC
// 8693) for the client "hub": its own access tokens for that hub, and assertions of the hub,
// which it verifies with the hub's published keys. The addresses of the hub and of the
// resource that tokens are for are its arguments. "robot" gets access tokens for the hub. It
// prints its address, tells at /asked which types of subjects came, and ends when its input
// does.

import { createServer } from 'node:http';
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify } from 'jose';
import { Provider, errors } from 'oidc-provider';

const [hub, resource] = process.argv.slice(2);
const type = (name) => `urn:ietf:params:oauth:token-type:${name}`;
const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const asked = [];

const { privateKey } = await generateKeyPair('ES256', { extractable: true });
const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const target = (audience) => ({
  audience, scope: 'a2a', accessTokenTTL: 60, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } },
});

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] },
  scopes: ['a2a'],
  clients: [{
    client_id: 'robot', client_secret: 'robots-only', grant_types: ['client_credentials'],
    redirect_uris: [], response_types: [], token_endpoint_auth_method: 'client_secret_post',
  }, {
    client_id: 'hub', client_secret: 's3cret/+&=%', grant_types: [grant],
    redirect_uris: [], response_types: [], token_endpoint_auth_method: 'client_secret_basic',
  }],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: { enabled: true, getResourceServerInfo: (_ctx, audience) => target(audience) },
  },
});

const own = createRemoteJWKSet(new URL(`${issuer}/jwks`));
const hubs = createRemoteJWKSet(new URL(`${hub}/.well-known/jwks.json`));

// subject returns who a subject token is about.
async function subject(token, kind) {
  switch (kind) {
    case type('access_token'):
      return (await jwtVerify(token, own, { issuer, audience: hub, typ: 'at+jwt' })).payload.sub;
    case type('jwt'):
      return (await jwtVerify(token, hubs, {
        issuer: hub, audience: `${issuer}/token`, algorithms: ['ES256'], maxTokenAge: '5m',
        requiredClaims: ['exp', 'iat', 'jti', 'sub', 'act'],
      })).payload.sub;
    default:
      throw new errors.InvalidRequest('subject_token_type is not supported');
  }
}

const params = ['audience', 'resource', 'scope', 'requested_token_type', 'subject_token', 'subject_token_type', 'actor_token', 'actor_token_type'];
provider.registerGrantType(grant, async (ctx) => {
  const p = ctx.oidc.params;
  asked.push(p.subject_token_type);
  if (p.actor_token || p.requested_token_type !== type('access_token')) throw new errors.InvalidRequest('unsupported');
  if (p.resource !== resource) throw new errors.InvalidTarget();
  if (p.scope !== 'a2a') throw new errors.InvalidScope('not a scope', p.scope);
  let accountId;
  try {
    accountId = await subject(p.subject_token, p.subject_token_type);
  } catch (err) {
    throw err instanceof errors.OIDCProviderError ? err : new errors.InvalidGrant(err.message);
  }
  if (accountId === 'mallory') throw new errors.InvalidGrant('mallory is not welcome');
  const token = new provider.AccessToken({ client: ctx.oidc.client, accountId, scope: p.scope });
  token.resourceServer = new provider.ResourceServer(p.resource, target(p.resource));
  ctx.body = {
    access_token: await token.save(), issued_token_type: type('access_token'),
    token_type: token.tokenType, expires_in: token.expiration, scope: p.scope,
  };
}, params, []);

const provide = provider.callback();
server.on('request', (req, res) => {
  if (req.url === '/asked') {
    res.end(JSON.stringify(asked));
    return;
  }
  provide(req, res);
});
process.stdout.write(issuer + '\n');
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
