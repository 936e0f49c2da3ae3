/**
 * `rookery setup`: a model by key or login, your name, your time zone, a daily limit, a morning briefing, a channel and a service. It
 * can be repeated.
 */
import { kindOfAccount } from "../../../config/connector-kinds.ts";
import { createHome } from "../../../config/create-home.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import { EngineApi } from "../../client/engine-api.ts";
import { changeFile, readIfThere } from "../change-file.ts";
import { isOffline } from "../chat/first-screen.ts";
import { reachEngine } from "../chat/reach-engine.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printResult } from "../print.ts";
import { readSecret } from "../read-secret.ts";
import { addBriefing, BRIEFING_NAME, findBriefing } from "../setup/briefing.ts";
import { answersOf, SETUP_OPTIONS, type SetupAnswers } from "../setup/options.ts";
import { connectTelegram, runOther } from "../setup/other-commands.ts";
import { askQuestions, type SetupDefaults } from "../setup/questions.ts";
import { testModel } from "../setup/test-model.ts";
import { factIn, NAME_LABEL, personTexts, readUser, type Settings, withSettings } from "../setup/write-files.ts";

type SetupContext = CommandContext<typeof SETUP_OPTIONS>;

export const setupCommand = defineAction({
  summary: "choose a model, your name, time zone, daily limit, morning briefing, channel and service",
  description:
    "Asks a few questions; Enter keeps what is there. Every question has a flag. Writes USER.md and SOUL.md in the workspace, which you can edit, and settings into the configuration. Run it again at any time.",
  options: SETUP_OPTIONS,
  async run(context) {
    const given = answersOf(context.flags);
    await createHome(context.paths);
    const isAsked = context.stdin().isTTY && !context.flags.yes && !context.json;
    const answers = isAsked ? await askQuestions(given, await defaultsOf(context)) : await withPipedKey(context, given);
    const failed: string[] = [];
    const part = async (what: string, argv: readonly string[]): Promise<void> => {
      if (!(await runOther(context, argv))) failed.push(what);
    };
    const done = [...(await storeKey(context, answers))];
    if (answers.login !== undefined) await part("login", loginCommand(context, answers.login));
    done.push(...(await writePersonFiles(context, answers)));
    done.push(...(await writeSettings(context, answers)));
    done.push(...(await packagesOf(context, isAsked ? "ask" : context.flags.yes ? "yes" : "no")));
    const facts = await withEngine(context, answers);
    if (answers.channel === "telegram" && (await isConnected(context))) {
      done.push("Telegram is connected already: `rookery channels list` shows it.");
    } else if (answers.channel === "telegram") await part("channel", connectTelegram(context.flags));
    // Last: from here on the service has the home.
    if (answers.service) await part("service", ["engine", "install"]);
    const again = failed.map((what) => `The ${what} does not work yet: run \`rookery setup\` again when it can.`);
    const end = "Ready. `rookery` opens the chat; `rookery setup` changes this.";
    const text = context.here([...done, ...facts.lines, ...again, end].join("\n"));
    printResult(context, { ...answers, key: undefined, ...facts, failed }, text);
    return failed.length === 0 ? undefined : 1;
  },
});

const loginCommand = ({ flags }: SetupContext, provider: string): readonly string[] => [
  ...["models", "login", provider],
  ...(flags["accept-login"] ? ["--accept"] : []),
];

async function storeKey({ paths }: SetupContext, { provider, key }: SetupAnswers): Promise<readonly string[]> {
  if (key === undefined || provider === undefined) return [];
  const { writeKey } = await import("../../../adapters/models/auth-file.ts");
  writeKey(paths.auth, provider, "default", key);
  return [`The key of ${provider} is in ${paths.auth}, for you only.`];
}

async function defaultsOf(context: SetupContext): Promise<SetupDefaults> {
  const { config } = await context.loadConfig();
  const { LOGIN_PROVIDERS } = await import("../../../adapters/models/logins/login-providers.ts");
  return {
    model: config.models.default ?? "what is found on this computer",
    name: factIn(readUser(context.paths), NAME_LABEL),
    timeZone: config.session.timeZone ?? hostZone(),
    dailyLimit: config.budgets.day?.dollars,
    hasBriefing: await hasBriefing(context),
    logins: Object.entries(LOGIN_PROVIDERS).flatMap(([provider, { account, load }]) =>
      load ? [{ provider, account }] : [],
    ),
    isConnected: await isConnected(context),
    hasService: await hasService(context),
  };
}

/** What the configured channels need is installed, after one yes. */
async function packagesOf(context: SetupContext, answer: "yes" | "ask" | "no"): Promise<readonly string[]> {
  const { neededPackages } = await import("../../node/configured-connectors.ts");
  const needed = neededPackages((await context.loadConfig()).config);
  if (needed.length === 0) return [];
  const { ensurePackages } = await import("../ensure-packages.ts");
  const missing = await ensurePackages(context, needed, answer);
  return missing.map(
    ({ one, why, command }) => `${one.use} needs ${one.name} ${one.version}: ${why}. Install it with: ${command}`,
  );
}

const isConnected = async ({ loadConfig }: SetupContext): Promise<boolean> =>
  Object.entries((await loadConfig()).config.connectors).some(([name, one]) => kindOfAccount(name, one) === "telegram");

async function hasService({ home, env }: SetupContext): Promise<boolean> {
  const { serviceStatus } = await import("../../operations/service/service.ts");
  return (await serviceStatus({ home, env })).installed;
}

/** A home without a database has none. */
const hasBriefing = (context: SetupContext): Promise<boolean> =>
  withApi(
    context,
    async ({ ask }) => {
      const query = { method: "GET", path: "/api/cron?all=true&limit=1000" } as const;
      const { items } = (await ask(query)) as { items: readonly { name?: string }[] };
      return items.some(({ name }) => name === BRIEFING_NAME);
    },
    { reads: true },
  ).catch(() => false);

/** Without a terminal a key is piped in. */
async function withPipedKey(context: SetupContext, given: SetupAnswers): Promise<SetupAnswers> {
  if (given.provider === undefined || context.stdin().isTTY) return given;
  return { ...given, key: await readSecret(context.stdin(), context.stderr, "") };
}

async function writePersonFiles(context: SetupContext, answers: SetupAnswers): Promise<readonly string[]> {
  const texts = personTexts(context.paths, answers);
  for (const { file, text, before } of texts) await changeFile(context, { file, text, before, why: "setup" });
  return texts.map(({ file }) => `${file} is yours to edit.`);
}

async function writeSettings(context: SetupContext, answers: SetupAnswers): Promise<readonly string[]> {
  const { paths } = context;
  const { model, timeZone, dailyLimit } = answers;
  const settings: Record<string, Settings[string]> = {};
  if (model !== undefined) settings.models = { default: model };
  if (timeZone !== undefined) settings.session = { timeZone };
  if (dailyLimit !== undefined && dailyLimit > 0) settings.budgets = { day: { dollars: dailyLimit } };
  const before = readIfThere(paths.config);
  const { text, byHand } = withSettings(before ?? "", settings);
  const change =
    text === (before ?? "") ? undefined : await changeFile(context, { file: paths.config, text, before, why: "setup" });
  const undo = change === undefined ? "" : ` Undo them with \`rookery config changes undo ${change}\`.`;
  const hand = Object.entries(byHand).map(
    ([section, values]) =>
      `Your configuration has a section "${section}". Put this into it yourself: ${JSON.stringify(values)}`,
  );
  return [...(change === undefined ? [] : [`${paths.config} has the settings.${undo}`]), ...hand];
}

/** The model is tested with one real message; the briefing is a job like any other. */
async function withEngine(context: SetupContext, answers: SetupAnswers) {
  // The configuration was read before it was changed.
  const { loadConfig } = await import("../../../config/load-config.ts");
  const fresh = { ...context, flags: {}, loadConfig: () => loadConfig(context.paths, context.env) };
  const engine = await reachEngine(fresh, (error) => context.stderr.write(`${String(error)}\n`));
  try {
    const api = new EngineApi(engine.transport);
    if (engine.isAttached) await api.post("/api/config/reload").catch(() => undefined);
    const { model } = await api.get<{ model: string | null }>("/api/terminal", { thread: "setup" });
    const tested = isOffline(model) ? undefined : await testModel(api);
    const lines = [
      isOffline(model)
        ? "No model yet: the offline model answers. Run `rookery setup` again when you have a key."
        : tested?.isOk
          ? `${model} answers: tested, ${tested.ms} ms.`
          : `${model} does not answer: ${tested?.problem ?? "no reply"}`,
    ];
    const job =
      answers.briefing === undefined || answers.briefing === "none"
        ? await findBriefing(api)
        : await addBriefing(api, answers.briefing, answers.timeZone);
    if (job) lines.push(`The morning briefing is a schedule. Remove it: \`rookery schedules remove "${job.name}"\``);
    return { model, tested, briefingJob: job?.id, lines };
  } finally {
    await engine.close();
  }
}
