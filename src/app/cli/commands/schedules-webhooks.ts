/** `rookery schedules webhooks`: the webhooks of the configuration: where each is called, how callers prove themselves, and where it leads. */
import { defineAction } from "../command.ts";
import { printList } from "../print.ts";

export const listWebhooks = defineAction({
  summary: "list the webhooks of the configuration and how they are called",
  async run(context) {
    const { config } = await context.loadConfig();
    const { host, port, publicUrl, tls } = config.gateway;
    const base = publicUrl ?? `${tls ? "https" : "http"}://${host}:${port}`;
    const items = Object.entries(config.hooks).map(([name, { token, hmac, target, profile }]) => ({
      name,
      url: `${base}/hooks/${name}`,
      proof: hmac ? `signed (${hmac.scheme})` : token ? "token" : "none",
      target,
      profile: profile ?? null,
    }));
    return printList(context, {
      items,
      line: ({ name, url, proof, target }) => `${name.padEnd(16)} POST ${url}  ${proof}, ${target}`,
      empty: "No webhooks. Add one under hooks in the configuration: `rookery config explain hooks`.",
    });
  },
});
