/** A program of yours as a channel: it brings messages as signed requests, and gets answers as signed requests. */
import { ConfigError } from "../../../core/errors.ts";
import type { ConnectorKindDefinition } from "../accounts/connector-kind.ts";

export const WEBHOOK: ConnectorKindDefinition = {
  notes: {
    title: "a program",
    drafts: "–",
    threads: "`thread`",
    crash: { in: "nothing, if the program posts again", out: "nothing: it is sent again under the same id" },
  },
  traits: {
    capabilities: {
      sendText: true,
      // With their content in the request.
      sendFiles: { modes: ["document"] },
    },
    // Every attempt has the id of the delivery, which the program keeps.
    sendingClass: "idempotent",
  },
  async open(account) {
    const { name, settings, reveal } = account;
    const { sendUrl, webhook } = settings;
    if (!sendUrl || !webhook) {
      throw new ConfigError(`connectors.${name}.${sendUrl ? "webhook.secret" : "sendUrl"} is missing.`);
    }
    const { webhookAccount } = await import("./webhook-account.ts");
    return webhookAccount({ ...account, sendUrl, secret: () => reveal(webhook.secret) });
  },
};
