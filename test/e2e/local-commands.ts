/**
 * Commands whose result does not depend on whether an engine runs, or says whether one runs: a line for each, which is run against
 * both homes. What such a line cannot do in a test is done by a test file of its own.
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
  "agents inbox": () => [["main"], ["--failed"]],
  "sessions list": () => [[]],
  "sessions search": () => [["main", "hello"]],
  "people tokens list": () => [[]],
  "sessions export": ({ out }) => [["main", out]],
  "sessions branch": ({ entry }) => [["main", entry]],
  "runs show": ({ run }) => [[run]],
  "runs replay": ({ run, out }) => [[run], [run, "--at", "1"], [run, "--export", join(out, "run.json")]],
  "runs wait": ({ run }) => [[run]],
  "runs abort": ({ run }) => [[run]],
  "people tokens remove": ({ token }) => [[token]],
  "config get": () => [["gateway.port"], ["nonsense"]],
  "config set": () => [["log.level", "debug"]],
  "config explain": () => [[], ["gateway"]],
  "config check": () => [[]],
  "config show": () => [[]],
  "config init": ({ out }) => [[], ["--home", join(out, "new")]],
  "schedules webhooks": () => [[]],
  "engine logs": () => [[], ["--level", "warn"]],
  "config completion": () => [["bash"], ["words", "agents", ""]],
  "backup add": ({ out }) => [[join(out, "backup.tar.gz")]],
  "backup restore": ({ out }) => [
    [join(out, "backup.tar.gz"), "--home", join(out, "restored")],
    ["--finish"],
    ["unknown.tar.gz"],
  ],
  "engine prune": () => [["--dry-run"]],
  "engine install": () => [["--no-start", "--no-keys"]],
  "engine status": () => [[]],
  "engine remove": () => [[]],
  doctor: () => [[]],
  "channels list": () => [[]],
  "mcp list": () => [[]],
  setup: () => [["--yes", "--name", "Ann"]],
  send: () => [["hello"], ["later", "--receipt"]],
  status: () => [[]],
  "engine remotes add": () => [["server", "http://127.0.0.1:1"]],
  "engine remotes list": () => [[]],
  "engine remotes remove": () => [["server"]],
  open: () => [["--print"]],
  "engine copy": ({ out }) => [["--from", join(out, "restored"), "--to", join(out, "copied")]],
  "engine repair": () => [[]],
  "models list": () => [[]],
  "models test": () => [[]],
  "models set": () => [["local/fake"], ["local/none"]],
  "models keys add": () => [["openai"]],
  "models logins": () => [[]],
  "models keys remove": () => [["openai"]],
  "config paths": () => [[]],
  help: () => [[], ["agents"], ["agents", "list"]],
};

/**
 * The test file that prints a document of each of the others: it ends with `printsDocumentsOf` and the names of its commands. Add a
 * command here only if no line can make its document, or a list with items: it needs a browser, a provider, a person at a channel, or a program of its own.
 */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  serve: "test/e2e/process.test.ts",
  demo: "test/e2e/demo.test.ts",
  "engine update": "src/app/cli/update.test.ts",
  "people forget": "src/app/operations/forget/forget.test.ts",
  "sessions archive": "src/app/cli/archive.test.ts",
  "config edit": "src/app/cli/config-edit.test.ts",
  "channels add telegram": "test/e2e/connect.test.ts",
  "channels add whatsapp": "test/e2e/connect.test.ts",
  "channels add whatsapp-web": "test/e2e/connect.test.ts",
  "channels add webhook": "test/e2e/connect.test.ts",
  "mcp check": "test/mcp/commands.test.ts",
  "mcp pin": "test/mcp/commands.test.ts",
  "mcp login": "test/mcp/login.test.ts",
  "models login": "src/app/cli/auth.test.ts",
  "models logout": "src/app/cli/auth.test.ts",
  "engine nodes": "test/postgres/commands.test.ts",
  "approvals yes": "src/app/cli/answers.test.ts",
  "approvals no": "src/app/cli/answers.test.ts",
  "people requests yes": "src/app/cli/answers.test.ts",
  "people requests no": "src/app/cli/answers.test.ts",
  "people sign-out": "src/app/cli/answers.test.ts",
  "people sessions": "src/app/cli/answers.test.ts",
  "approvals list": "src/app/cli/answers.test.ts",
  "people requests list": "src/app/cli/answers.test.ts",
  "models logins": "src/app/cli/auth.test.ts",
  "schedules runs": "src/app/cli/cron.test.ts",
  "sessions carry-over": "src/app/cli/status.test.ts",
  "engine prune": "src/app/operations/prune/prune.test.ts",
};
