/** A login at this terminal: `rookery models login` and `rookery setup` use it. It works over ssh: nothing is opened here. */
import type { LoginDialog, LoginWish } from "../../../adapters/models/logins/log-in.ts";
import type { Login } from "../../../adapters/models/logins/login-file.ts";
import type { CommandContext } from "../command.ts";
import { askYesNo } from "../confirm.ts";
import { LineReader } from "./line-reader.ts";

interface LoginHere extends LoginWish {
  /** The person has read what the provider permits, and wants it. Otherwise a terminal asks; without one the login is refused. */
  readonly accept: boolean;
}

type Terminal = Pick<CommandContext, "stdin" | "stderr" | "paths" | "here">;

/** Resolves when the tokens are durable. Throws a typed error, and has changed nothing then. */
export async function logInHere(context: Terminal, wish: LoginHere): Promise<Login> {
  const { stderr, paths } = context;
  const { logIn } = await import("../../../adapters/models/logins/log-in.ts");
  const { systemClock: clock } = await import("../../../adapters/system/system-clock.ts");
  const lines = new LineReader(context.stdin);
  const dialog: LoginDialog = {
    say: (text) => void stderr.write(`${context.here(text)}\n`),
    async ask(question, signal) {
      stderr.write(`${question}\n`);
      const line = await lines.next(signal);
      if (line !== undefined || signal.aborted) return line ?? "";
      // There is no one to paste anything: only the browser on this machine can end the login.
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return "";
    },
    async confirm(question) {
      if (wish.accept) return true;
      if (!context.stdin().isTTY) return false;
      return askYesNo(question);
    },
  };
  try {
    return await logIn({ file: paths.logins, clock, signal: new AbortController().signal }, wish, dialog);
  } finally {
    lines.close();
  }
}
