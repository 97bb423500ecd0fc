// An OpenID provider for people, made with oidc-provider: the client "console" signs them in by
// the code flow with PKCE. The argument is the redirect URI of the client. Its page asks for a name
// alone; "root" is in the group "operators", and "nobody" is refused. It prints its address, which
// is on another site than 127.0.0.1, and ends when its input does.

import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

const [redirect] = process.argv.slice(2);
const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://localhost:${server.address().port}`;
const { privateKey } = await generateKeyPair('ES256', { extractable: true });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] },
  clients: [{
    client_id: 'console', client_secret: 'only-for-the-console', redirect_uris: [redirect],
    response_types: ['code'], grant_types: ['authorization_code'], id_token_signed_response_alg: 'ES256',
  }],
  claims: { openid: ['sub'], profile: ['name', 'groups'] },
  conformIdTokenClaims: false,
  cookies: { keys: ['only for this test'] },
  pkce: { required: () => true },
  ttl: { IdToken: 3600, AccessToken: 60, AuthorizationCode: 60, Grant: 600, Interaction: 600, Session: 600 },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_ctx, i) => `/interaction/${i.uid}` },
  findAccount: (_ctx, sub) => ({
    accountId: sub,
    claims: () => ({ sub, name: sub[0].toUpperCase() + sub.slice(1), groups: sub === 'root' ? ['operators'] : ['people'] }),
  }),
  loadExistingGrant: async (ctx) => {
    const { client, session, params } = ctx.oidc;
    const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope(params.scope);
    await grant.save();
    return grant;
  },
});

const pageOf = (body) => `<!doctype html><title>corp</title><link rel="icon" href="data:,">${body}`;
const provide = provider.callback();
server.on('request', async (req, res) => {
  const [path, query] = req.url.split('?');
  if (path === '/elsewhere') { // a page of another site with a link to the console
    res.setHeader('Content-Type', 'text/html');
    res.end(pageOf(`<a id="link" href="${decodeURIComponent(query).replace(/["&<>]/g, '')}">a link</a>`));
  } else if (path.startsWith('/interaction/') && req.method === 'GET') {
    res.setHeader('Content-Type', 'text/html');
    res.end(pageOf('<form method="post"><input id="login" name="login"><button>Sign in</button></form>'));
  } else if (path.startsWith('/interaction/')) {
    let body = '';
    for await (const chunk of req) body += chunk;
    const login = new URLSearchParams(body).get('login');
    await provider.interactionFinished(req, res, login === 'nobody'
      ? { error: 'access_denied', error_description: 'refused' } : { login: { accountId: login } });
  } else {
    provide(req, res);
  }
});
process.stdout.write(issuer + '\n');
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
