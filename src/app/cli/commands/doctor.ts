/** `rookery doctor`: lists what the owner should check in this home. Each check reads and changes nothing. */
import { readFileSync } from "node:fs";
import type { SandboxChoice } from "../../../adapters/sandbox/open-sandbox.ts";
import type { SandboxKind } from "../../../adapters/sandbox/sandbox.ts";
import { sharedBeforeFile } from "../../../config/paths.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printList } from "../print.ts";

interface Finding {
  readonly problem: string;
  /** What to do about it. */
  readonly advice: string;
}

type Check = (context: CommandContext) => Promise<readonly Finding[]> | readonly Finding[];

const CHECKS: readonly Check[] = [sharedWorkspace, oldTokens, missingSandbox, connectors];

export const doctorCommand = defineAction({
  summary: "list what you should check in this home",
  description: "Reads and changes nothing. Exits with 1 if there is something to check.",
  async run(context) {
    const findings = (await Promise.all(CHECKS.map((check) => check(context)))).flat();
    const sandbox = (await sandboxOf(context)).sandbox?.kind ?? null;
    const line = ({ problem, advice }: Finding): string => `${problem.trimEnd()}\n  ${advice}`;
    const before = sandbox === null ? [] : [SANDBOX_TEXTS[sandbox]];
    printList(context, { items: findings, more: { sandbox }, line, before, empty: "Nothing to check." });
    return findings.length === 0 ? undefined : 1;
  },
});

const SANDBOX_TEXTS: Readonly<Record<SandboxKind, string>> = {
  srt: "Commands of agents run in the sandbox runtime; the network is limited to sandbox.domains.",
  bwrap: "Commands of agents run in bubblewrap, without network. For sandbox.domains install socat.",
  docker: "Commands of agents run in Docker, without network.",
};

async function sandboxOf({ loadConfig }: CommandContext): Promise<SandboxChoice> {
  const { openSandbox } = await import("../../../adapters/sandbox/open-sandbox.ts");
  const { kind, dockerImage } = (await loadConfig()).config.sandbox;
  return openSandbox({ sandbox: kind, dockerImage });
}

async function missingSandbox(context: CommandContext): Promise<readonly Finding[]> {
  const { INSTALL } = await import("../../../adapters/sandbox/open-sandbox.ts");
  const { sandbox, problems } = await sandboxOf(context);
  if (sandbox) return [];
  return [{ problem: `Agents cannot run commands: there is no sandbox (${problems.join(". ")}).`, advice: INSTALL }];
}

/** Tokens that were minted before each belonged to the owner, to an application or to a person. */
async function oldTokens({ paths }: CommandContext): Promise<readonly Finding[]> {
  const { OWNER } = await import("../../gateway/auth/principal.ts");
  const { isOldToken } = await import("../../gateway/auth/token-service.ts");
  const { withTokens } = await import("../with-tokens.ts");
  const old = (await withTokens(paths, (service) => service.list(OWNER))).filter(isOldToken);
  if (old.length === 0) return [];
  const listed = old.map(({ id, name }) => `${id} (${name})`).join(", ");
  return [
    {
      problem: `Minted before tokens belonged to someone: ${listed}. Two of them that name the same user share a conversation.`,
      advice: "Mint new ones (rookery tokens mint NAME --app APP, or --person ID) and revoke these.",
    },
  ];
}

/** Accounts on channels that cannot connect. */
async function connectors(context: CommandContext): Promise<readonly Finding[]> {
  if (Object.keys((await context.loadConfig()).config.connectors).length === 0) return [];
  const { withApi } = await import("../client/with-api.ts");
  const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path: "/api/connectors" }))) as {
    items: readonly { name: string; channel: string; state: string; detail: string }[];
  };
  return items
    .filter(({ state }) => state === "failing")
    .map(({ name, channel, detail }) => ({
      problem: `The account ${name} on ${channel} does not work: ${detail}`,
      advice: `Check connectors.${name} in the configuration, then rookery connectors.`,
    }));
}

/** What everyone shared before each person had an own directory. */
function sharedWorkspace({ paths }: CommandContext): readonly Finding[] {
  const file = sharedBeforeFile(paths);
  try {
    return [
      {
        problem: readFileSync(file, "utf8"),
        advice: `Move what belongs to others into ${paths.people}, then delete ${file}.`,
      },
    ];
  } catch {
    return [];
  }
}
