/** Checks of the sandbox of commands: whether there is one, and whether it refuses what it must refuse. */
import { existsSync } from "node:fs";
import { ATTEMPTS, makeAttempts } from "../../../../adapters/sandbox/attempts.ts";
import { INSTALL, openSandbox } from "../../../../adapters/sandbox/open-sandbox.ts";
import { refusalOf } from "../../../../adapters/sandbox/open-tried-sandbox.ts";
import type { SandboxKind } from "../../../../adapters/sandbox/sandbox.ts";
import type { DeniedError } from "../../../../core/errors.ts";
import { defineCheck, type Finding } from "../check.ts";

const SANDBOX_TEXTS: Readonly<Record<SandboxKind, string>> = {
  srt: "Commands of agents run in the sandbox runtime; the network is limited to sandbox.domains.",
  bwrap: "Commands of agents run in bubblewrap, without network. For sandbox.domains install socat.",
  docker: "Commands of agents run in Docker, without network.",
};

export const sandboxCheck = defineCheck({
  id: "sandbox",
  needs: ["config"],
  async check({ config }) {
    const { kind, dockerImage } = config.sandbox;
    const { sandbox, problems } = await openSandbox({ sandbox: kind, dockerImage });
    await sandbox?.close();
    if (sandbox) return { fine: SANDBOX_TEXTS[sandbox.kind] };
    const text = `Agents cannot run commands: there is no sandbox (${problems.join(". ")}).`;
    return { fine: "", findings: [{ level: "problem", text, help: INSTALL }] };
  },
});

export const rootCheck = defineCheck({
  id: "commands-user",
  needs: ["config"],
  check: () => ({
    fine: "Commands of agents do not run as root.",
    findings: process.getuid?.() === 0 ? [ROOT] : [],
  }),
});

const ROOT: Finding = {
  level: "notice",
  text: "Commands of agents run as root: only the sandbox keeps them from the files of this machine.",
  help: "Run Rookery as a user of its own.",
};

/** Lists each attempt with what came of it. */
export const attemptsCheck = defineCheck({
  id: "sandbox-attempts",
  needs: ["config"],
  async check({ config, paths, env }) {
    const { kind, dockerImage } = config.sandbox;
    const { sandbox } = await openSandbox({ sandbox: kind, dockerImage });
    if (!sandbox) return { fine: "There is no sandbox to try." };
    if (!existsSync(paths.home)) return { fine: "Not tried: there is no home yet." };
    try {
      const attempts = await makeAttempts(sandbox, { home: paths.home, env });
      const of = (wanted: string): string =>
        attempts.flatMap(({ name, outcome }) => (outcome === wanted ? [ATTEMPTS[name]] : [])).join("; ");
      const refused = of("refused");
      const fine = refused === "" ? "Nothing was tried." : `In the sandbox a command cannot ${refused}.`;
      const refusal = refusalOf(sandbox.kind, attempts);
      const untried = of("untried");
      return {
        fine,
        findings: [
          ...(refusal ? [problemFinding(refusal, refused)] : []),
          ...(untried === "" ? [] : [untriedFinding(untried)]),
        ],
      };
    } finally {
      await sandbox.close();
    }
  },
});

const problemFinding = ({ message, hint = "" }: DeniedError, refused: string): Finding => ({
  level: "problem",
  text: refused === "" ? message : `${message} It cannot ${refused}.`,
  help: hint,
});

const untriedFinding = (what: string): Finding => ({
  level: "notice",
  text: `Rookery did not try whether a command in the sandbox can ${what}.`,
  help: "Only perl or python3 in the sandbox can send to a Unix socket.",
});
