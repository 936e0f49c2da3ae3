/**
 * An authorisation server for tests: real HTTP on loopback, for every provider that has a login. `redirected` is a `fetch` that
 * sends requests for the providers' hosts to it. Refresh tokens are used once, as RFC 9700 asks.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server says to one poll of a device, or to one exchange of a code. */
export type Poll = "pending" | "slow_down" | "denied" | "expired" | "ok" | "broken" | "garbage";

export interface AuthServer {
  readonly url: string;
  /** `method host/path`, in order. */
  readonly asked: string[];
  /** The answers to polls, the last one for ever. Default: ok. */
  polls: Poll[];
  /** The next refreshes: `ok`, `refused`, `broken` (HTTP 503), `hang`. Default: ok. */
  refreshes: ("ok" | "refused" | "broken" | "hang")[];
  /** A used refresh token is accepted once more: some servers forgive a lost answer. */
  forgiving: boolean;
  /** Seconds until a token expires. */
  lifetime: number;
  /** Called when a refresh has taken effect and before it is answered. */
  onRefreshed: () => void | Promise<void>;
  readonly refreshed: number;
  /** The access tokens that are valid. */
  readonly valid: ReadonlySet<string>;
  revoke(access: string): void;
  readonly redirected: typeof fetch;
  close(): Promise<void>;
}

const HOSTS = new Set([
  ...[
    "auth.x.ai",
    "auth.openai.com",
    "openrouter.ai",
    "auth.meta.com",
    "api.meta.ai",
    "radius.pi.dev",
    "auth.kimi.com",
  ],
]);

/** Unmistakable, so that a test finds a token that leaks. */
export const PLANTED = "planted-token";

/** Status and body. Undefined: no answer. */
type Answer = readonly [number, object] | undefined;

export async function startAuthServer(): Promise<AuthServer> {
  const realFetch = globalThis.fetch;
  const grants = new Map<string, { used: number }>();
  const valid = new Set<string>();
  let count = 0;
  let url = "";
  const server = createServer((request, response) => void handle(request, response));
  const state = {
    asked: [] as string[],
    polls: ["ok"] as Poll[],
    refreshes: [] as AuthServer["refreshes"],
    forgiving: false,
    lifetime: 3600,
    onRefreshed: (): void | Promise<void> => undefined,
    refreshed: 0,
    valid,
    revoke: (access: string) => void valid.delete(access),
  };

  const issue = () => {
    count++;
    const access = `${PLANTED}-access.${Buffer.from(
      JSON.stringify({ "https://api.openai.com/auth": { chatgpt_account_id: `account-${count}` } }),
    ).toString("base64")}.${count}`;
    const refresh = `${PLANTED}-refresh-${count}`;
    grants.set(refresh, { used: 0 });
    valid.add(access);
    return { access_token: access, refresh_token: refresh, expires_in: state.lifetime, token_type: "Bearer" };
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const fields = (
      text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
    ) as Readonly<Record<string, string>>;
    const [, host = "", ...rest] = (request.url ?? "").split("/");
    const path = `/${rest.join("/")}`.replace(/\/$/u, "").replace(/\?.*/u, "");
    state.asked.push(`${request.method} ${host}${path}`);
    const answer = await answerTo(`${host}${path}`, fields, request.headers.authorization);
    if (!answer || response.destroyed) return;
    response.writeHead(answer[0], { "content-type": "application/json" });
    response.end(JSON.stringify(answer[1]));
  }

  async function answerTo(path: string, fields: Readonly<Record<string, string>>, authorization = ""): Promise<Answer> {
    switch (path) {
      case "auth.kimi.com/api/oauth/device_authorization":
      case "auth.x.ai/oauth2/device/code":
      case "auth.meta.com/oidc/device/authorization":
      case "radius.pi.dev/v1/oauth/device":
        return [
          200,
          {
            ...{ device_code: "device-1", user_code: "ABCD-1234", interval: 5, expires_in: 900 },
            ...{ verification_uri: "https://fake.test/go", verification_uri_complete: "https://fake.test/go?c=ABCD" },
          },
        ];
      case "auth.openai.com/api/accounts/deviceauth/usercode":
        return [200, { device_auth_id: "device-1", user_code: "ABCD-1234", interval: "5" }];
      case "auth.openai.com/api/accounts/deviceauth/token":
        return pollCodex();
      case "openrouter.ai/api/v1/auth/keys":
        return answerPoll(next(), () => ({ key: `${PLANTED}-key-${fields.code}` }));
      case "api.meta.ai/muse-code/key":
        // A key is made from the token of the login, which stays.
        return mint(authorization.replace("Bearer ", ""));
      default:
        if (fields.grant_type === "refresh_token") return exchange(fields.refresh_token ?? "");
        return answerPoll(next(), issue);
    }
  }

  const next = (): Poll => (state.polls.length > 1 ? (state.polls.shift() ?? "ok") : (state.polls[0] ?? "ok"));

  function pollCodex(): Answer {
    const poll = next();
    if (poll === "pending") return [403, {}];
    if (poll === "ok") return [200, { authorization_code: "code-1", code_verifier: "v" }];
    return answerPoll(poll, () => ({}));
  }

  function answerPoll(poll: Poll, tokens: () => object): Answer {
    switch (poll) {
      case "ok":
        return [200, tokens()];
      case "pending":
        return [400, { error: "authorization_pending" }];
      case "slow_down":
        return [400, { error: "slow_down" }];
      case "denied":
        return [400, { error: "access_denied", error_description: `${PLANTED} was denied` }];
      case "expired":
        return [400, { error: "expired_token" }];
      case "broken":
        return [500, { error: `${PLANTED} broke` }];
      case "garbage":
        return [200, { token: `${PLANTED}-garbage` }];
    }
  }

  /** A refresh. A refresh token that was used is refused, as is one that was never issued. */
  async function exchange(refresh: string): Promise<Answer> {
    const wish = state.refreshes.shift() ?? "ok";
    const grant = grants.get(refresh);
    if (wish === "broken") return [503, { error: "temporarily_unavailable" }];
    const isUsed = grant !== undefined && grant.used > (state.forgiving ? 1 : 0);
    if (wish === "refused" || !grant || isUsed) return [400, { error: "invalid_grant" }];
    grant.used++;
    const tokens = issue();
    state.refreshed++;
    await state.onRefreshed();
    return wish === "hang" ? undefined : [200, tokens];
  }

  function mint(identity: string): Answer {
    if (!valid.has(identity)) return [401, { error: "invalid_token" }];
    state.refreshed++;
    return [200, { api_key: issue().access_token }];
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const redirected: typeof fetch = (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input);
    if (!HOSTS.has(asked.host)) return realFetch(input, init);
    return realFetch(`${url}/${asked.host}${asked.pathname}${asked.search}`, init);
  };
  return Object.assign(state, {
    url,
    redirected,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
