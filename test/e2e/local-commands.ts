/**
 * Commands whose result does not depend on whether an engine runs, or says whether one runs: a line for each, which is run against
 * both homes. What such a line cannot do in a test is done by a test of its own, which runs it with `--json` too.
 */
import { join } from "node:path";

export interface Place {
  readonly home: string;
  /** A directory of this home's own for what a command writes. */
  readonly out: string;
  readonly run: string;
  /** The last one of the conversation. */
  readonly entry: string;
  readonly token: string;
}

type Lines = (place: Place) => readonly (readonly string[])[];

/** In the order in which they run. */
export const LOCAL_LINES: Readonly<Record<string, Lines>> = {
  "agents tree": () => [[], ["main"]],
  "sessions export": ({ out }) => [["main", out]],
  "sessions branch": ({ entry }) => [["main", entry]],
  "runs show": ({ run }) => [[run]],
  "runs replay": ({ run, out }) => [[run], [run, "--at", "1"], [run, "--export", join(out, "run.json")]],
  "runs wait": ({ run }) => [[run]],
  "runs abort": ({ run }) => [[run]],
  "tokens revoke": ({ token }) => [[token]],
  "config get": () => [["gateway.port"], ["nonsense"]],
  "config set": () => [["log.level", "debug"]],
  "config explain": () => [[], ["gateway"]],
  "config check": () => [[]],
  "config show": () => [[]],
  "config init": ({ out }) => [[], ["--home", join(out, "new")]],
  hooks: () => [[]],
  logs: () => [[], ["--level", "warn"]],
  completion: () => [["bash"], ["complete", "agents", ""]],
  backup: ({ out }) => [[join(out, "backup.tar.gz")]],
  restore: ({ out }) => [
    [join(out, "backup.tar.gz"), "--home", join(out, "restored")],
    ["--finish"],
    ["unknown.tar.gz"],
  ],
  prune: () => [["--dry-run"]],
  forget: () => [["unknown", "--yes"]],
  "service install": () => [["--no-start", "--no-keys"]],
  "service status": () => [[]],
  "service remove": () => [[]],
  doctor: () => [[]],
  connectors: () => [[]],
  "mcp list": () => [[]],
  setup: () => [["--yes", "--name", "Ann"]],
  send: () => [["hello"], ["later", "--receipt"]],
  status: () => [[]],
  "remote add": () => [["server", "http://127.0.0.1:1"]],
  "remote list": () => [[]],
  "remote remove": () => [["server"]],
  open: () => [["--print"]],
  "store copy": ({ out }) => [["--from", join(out, "restored"), "--to", join(out, "copied")]],
  repair: () => [[]],
  "models list": () => [[]],
  "models test": () => [[]],
  "models set": () => [["local/fake"], ["local/none"]],
  "auth set": () => [["openai"]],
  "auth status": () => [[]],
  "auth remove": () => [["openai"]],
  home: () => [[]],
  version: () => [[]],
  help: () => [[], ["agents"], ["agents", "list"]],
};

/** Where a document of each of the others is checked, or why there is none. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  chat: "needs a terminal and prints no document: chat.test.ts",
  "mcp serve": "speaks a protocol instead: test/mcp/server.test.ts",
  serve: "is the engine: serving.ts reads its document",
  demo: "has an engine and a home of its own: demo.test.ts",
  update: "replaces the program: update.test.ts",
  "sessions archive": "needs a compacted session: archive.test.ts",
  "config edit": "starts an editor: config-edit.test.ts",
  "connect telegram": "asks the server of Telegram: connect.test.ts",
  "connect whatsapp": "asks the server of WhatsApp: connect.test.ts",
  "connect whatsapp-web": "shows a code for a phone: connect.test.ts",
  "connect webhook": "writes the file that a running engine reads: connect.test.ts",
  "mcp check": "starts the server itself: test/mcp",
  "mcp pin": "starts the server itself: test/mcp",
  "mcp login": "needs a browser: test/mcp/login.test.ts",
  "auth login": "needs a provider: auth.test.ts",
  "auth logout": "needs a login: auth.test.ts",
  nodes: "reads a shared store: test/postgres/commands.test.ts",
};

/** Documents that no line here makes: they need a person at a channel, a browser or a run that waits. Their shape is that of another one. */
export const NOT_SEEN: readonly string[] = [
  "people sign-out",
  "approvals no",
  "approvals yes",
  "pair yes",
  "pair no",
  "forget",
];
