/** Checks of the outside: models, channels, and who can reach the gateway. */
import { connect } from "node:net";
import { systemClock } from "../../../../adapters/system/system-clock.ts";
import { silentLog } from "../../../../core/ports/log.ts";
import { refusedKeyHelp, refusedKeyText } from "../../../../core/refused-key.ts";
import { type DoctorFacts, defineCheck, type Finding } from "../check.ts";

export const connectorsCheck = defineCheck({
  id: "connectors",
  needs: ["config"],
  check({ config, engine }) {
    const configured = Object.entries(config.connectors).filter(([, { enabled }]) => enabled);
    if (!engine) return { fine: `${configured.length} accounts are configured; no engine runs.` };
    const accounts = [...engine.connectors].flatMap(([channel, connector]) => {
      const own = connector.accounts?.();
      if (own) return own.map(({ name, state, detail }) => ({ name, channel, isFailing: state === "failing", detail }));
      const { ok, detail } = connector.health();
      return [{ name: channel, channel, isFailing: !ok, detail }];
    });
    const failing = accounts.filter(({ isFailing }) => isFailing);
    return {
      fine: `${accounts.length} connectors work.`,
      findings: failing.map(({ name, channel, detail }) => ({
        level: "problem",
        text: `The account ${name} on ${channel} does not work: ${detail ?? "no reason"}`,
        help: `Check connectors.${name} in the configuration, then \`rookery channels list\`.`,
      })),
    };
  },
});

/** How long the server of a model may take to answer anything at all. */
const REACH_MS = 3_000;

export const modelCheck = defineCheck({
  id: "model",
  needs: ["config"],
  async check({ config, paths, env, engine, now }) {
    const { openModels } = await import("../../../../adapters/models/open-models.ts");
    const { describeModels } = await import("../../../../adapters/models/describe-models.ts");
    const models = openModels({ settings: { current: config }, paths, env, clock: systemClock, log: silentLog });
    const { using } = await describeModels(config, models);
    const refused = (engine?.refusedKeys ?? []).map(
      (key): Finding => ({ level: "problem", text: refusedKeyText(key, now), help: refusedKeyHelp(key) }),
    );
    if (using.model === "offline") {
      const text = "No model is configured: the offline model answers, which is not an LLM.";
      return {
        fine: "",
        findings: [
          ...refused,
          { level: "notice", text, help: "`rookery setup`, or `rookery models keys add PROVIDER`." },
        ],
      };
    }
    const known = await models.providers.model(using.model);
    const provider = using.model.split("/")[0] ?? "";
    if (!known) {
      const text = `The model ${using.model} is not known.`;
      const help = "`rookery models` lists the known ones.";
      return { fine: "", findings: [...refused, { level: "problem", text, help }] };
    }
    const findings: Finding[] = [...refused];
    const isLocal = /^https?:\/\/(?:127\.|localhost|\[::1\])/.test(known.baseUrl);
    if (!isLocal && known.baseUrl !== "" && known.cost.input === 0 && known.cost.output === 0) {
      const text = `The price of ${using.model} is not known, so limits in dollars do not count it.`;
      findings.push({
        level: "notice",
        text,
        help: `Set models.providers.${provider}.models[].cost, or limit tokens.`,
      });
    }
    const unreachable = await unreachableReason(known.baseUrl);
    if (unreachable !== undefined) {
      const text = `The server of ${using.model} cannot be reached (${unreachable}).`;
      findings.push({
        level: "problem",
        text,
        help: "Check the network and models.providers; `rookery models` shows what is used.",
      });
    }
    return { fine: `${using.model} is used, because ${using.why}; its server answers.`, findings };
  },
});

/** Connects and sends nothing: any server there counts. */
function unreachableReason(baseUrl: string): Promise<string | undefined> {
  if (baseUrl === "") return Promise.resolve(undefined);
  const { hostname, port, protocol } = new URL(baseUrl);
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
  });
  return new Promise<string | undefined>((resolve) => {
    socket.setTimeout(REACH_MS, () => resolve(`no answer within ${REACH_MS / 1_000} seconds`));
    socket.on("connect", () => resolve(undefined));
    socket.on("error", (error) => resolve(error.message || (error as NodeJS.ErrnoException).code));
  }).finally(() => socket.destroy());
}

const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|localhost|::1|\[::1\])$/.test(host);

export const exposureCheck = defineCheck({
  id: "exposure",
  needs: ["config"],
  check: (facts) => ({ fine: "Only this machine reaches the gateway.", findings: exposureFindings(facts) }),
});

function exposureFindings({ config }: Pick<DoctorFacts, "config">): readonly Finding[] {
  if (!config || isLoopback(config.gateway.host)) return [];
  const { host, tls, trustedProxies } = config.gateway;
  const isEncrypted = tls !== undefined || trustedProxies.length > 0;
  return [
    isEncrypted
      ? {
          level: "notice",
          text: `The gateway listens on ${host}: other machines reach it, with a token.`,
          help: "`rookery people tokens list` shows who has one.",
        }
      : {
          level: "problem",
          text: `The gateway listens on ${host} without TLS: tokens and messages travel readable.`,
          help: "Set gateway.tls, put a proxy with TLS before it and name it in gateway.trustedProxies, or set gateway.host to 127.0.0.1.",
        },
  ];
}
