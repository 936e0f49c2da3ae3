/**
 * Engines elsewhere: by their address, or by the name under which a person saved it. A token never stands on a command line, where
 * other users of the machine could read it.
 */
import { readFileSync } from "node:fs";
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import { httpTransport } from "../client/http-transport.ts";
import type { Transport } from "../client/transport.ts";
import type { CommandContext, Options } from "./command.ts";

export const REMOTE_OPTIONS = {
  url: { type: "string", value: "URL", description: "an engine elsewhere: its address, or the name of a saved remote" },
  "token-file": { type: "string", value: "FILE", description: "the file with its token (default: $ROOKERY_TOKEN)" },
} as const satisfies Options;

const LOCAL: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Throws if a token would travel in the clear. */
export function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/u.test(url.protocol)) {
    throw new InvalidInputError(`"${text.slice(0, 100)}" is no address.`, { hint: "Write it as https://host:port." });
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidInputError("An address must not contain a password.", {
      hint: "Put the token in $ROOKERY_TOKEN.",
    });
  }
  if (url.protocol === "http:" && !LOCAL.has(url.hostname)) {
    throw new InvalidInputError(`The token would travel to ${url.hostname} unencrypted.`, {
      hint: "Use https, or a tunnel: ssh -L 7717:127.0.0.1:7717 host, then --url http://127.0.0.1:7717.",
    });
  }
  return text;
}

interface Remote {
  readonly url: string;
  readonly transport: Transport;
}

/** The engine that `--url` names; undefined without the flag. */
export async function remoteOf({
  home,
  env,
  flags,
}: CommandContext<typeof REMOTE_OPTIONS>): Promise<Remote | undefined> {
  const { url: named, "token-file": file } = flags;
  if (named === undefined) return undefined;
  const { readRemotes } = await import("./remotes-file.ts");
  const saved = readRemotes(home)[named];
  if (!saved && !named.includes("://")) {
    throw new NotFoundError(`There is no remote "${named.slice(0, 60)}".`, {
      hint: "`rookery engine remotes list` shows the saved ones; `rookery engine remotes add NAME URL` saves one.",
    });
  }
  const url = checkedUrl(saved?.url ?? named);
  const token =
    (file === undefined ? undefined : readFileSync(file, "utf8").trim()) ?? saved?.token ?? env.ROOKERY_TOKEN;
  if (!token) {
    throw new InvalidInputError(`A token for ${url} is missing.`, {
      hint: "Set ROOKERY_TOKEN, use --token-file FILE, or save it with `rookery engine remotes add NAME URL`.",
    });
  }
  return { url, transport: httpTransport({ url, token }) };
}
