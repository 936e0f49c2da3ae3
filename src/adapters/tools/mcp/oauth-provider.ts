/**
 * The login at remote MCP servers that want OAuth. Tokens are in `mcp-auth.json` of the home (0600), by server and by issuer. The engine
 * refreshes them; a login needs a person and a browser: `rookery mcp login NAME`.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { FILE_MODE } from "../../../config/paths.ts";
import { ServerUnavailableError } from "../../../core/errors.ts";
import { readVersion } from "../../system/version.ts";

interface StoredLogin {
  client?: unknown;
  tokens?: unknown;
  verifier?: string;
}
type Logins = Record<string, StoredLogin>;

interface LoginStorage {
  read(server: string): StoredLogin;
  write(server: string, change: Partial<StoredLogin>): void;
}

export function loginStorage(file: string): LoginStorage {
  const all = (): Logins => {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as Logins;
    } catch {
      return {};
    }
  };
  return {
    read: (server) => all()[server] ?? {},
    write(server, change) {
      const logins = all();
      logins[server] = { ...logins[server], ...change };
      writeFileSync(`${file}.new`, `${JSON.stringify(logins, null, 2)}\n`, { mode: FILE_MODE });
      renameSync(`${file}.new`, file);
    },
  };
}

export interface ProviderOptions {
  readonly server: string;
  readonly storage: LoginStorage;
  /** A client that was registered before. Absent: this program registers itself. */
  readonly client?: { readonly id: string; readonly secret?: string };
  /** Where this program describes itself: its id at login servers that support that. */
  readonly metadataUrl?: string;
  /** Where the browser comes back to. Without it and `open`, nobody is there to log in. */
  readonly redirectUrl?: string;
  readonly state?: string;
  readonly open?: (url: URL) => void | Promise<void>;
}

/** Without an address to come back to, the library would take this for a login of a program. */
const NOWHERE = "http://127.0.0.1/callback";

export function oauthProvider(options: ProviderOptions): OAuthClientProvider {
  const { server, storage, client: given, metadataUrl, redirectUrl = NOWHERE, state, open } = options;
  const registered = given && { client_id: given.id, client_secret: given.secret };
  /** Which login server this login began with: its code is for no other. */
  let discovered: OAuthDiscoveryState | undefined;
  const wantsLogin = (): never => {
    throw new ServerUnavailableError(`The MCP server ${server} wants a login.`, {
      hint: `Run \`rookery mcp login ${server}\`.`,
    });
  };
  return {
    redirectUrl,
    clientMetadataUrl: metadataUrl,
    clientMetadata: {
      client_name: "Rookery",
      software_version: readVersion(),
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "native",
    } as OAuthClientProvider["clientMetadata"],
    state: state === undefined ? undefined : () => state,
    clientInformation() {
      // The engine registers nothing that no one will log in with.
      if (!open && storage.read(server).tokens === undefined) wantsLogin();
      return (registered ?? storage.read(server).client) as never;
    },
    saveClientInformation: registered ? undefined : (client) => storage.write(server, { client }),
    tokens: () => storage.read(server).tokens as never,
    saveTokens(tokens) {
      // The next login looks for its server again: it may be another.
      discovered = undefined;
      storage.write(server, { tokens });
    },
    redirectToAuthorization: (url) => (open ? open(url) : wantsLogin()),
    saveDiscoveryState(found) {
      discovered = found;
    },
    discoveryState: () => discovered,
    saveCodeVerifier: (verifier) => storage.write(server, { verifier }),
    codeVerifier: () => storage.read(server).verifier ?? "",
    invalidateCredentials(scope: string) {
      if (scope === "all" || scope === "tokens") storage.write(server, { tokens: undefined });
      if (scope === "all" || scope === "client") storage.write(server, { client: undefined });
      if (scope === "all" || scope === "verifier") storage.write(server, { verifier: undefined });
      if (scope === "all" || scope === "discovery") discovered = undefined;
    },
  } as OAuthClientProvider;
}
