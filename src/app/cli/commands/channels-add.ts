/** `rookery channels add`: connects a channel. Each kind is an action of its own, and every step of it can be given by a flag. */
import type { Group } from "../command.ts";
import { connectTelegram } from "../connect/telegram.ts";
import { connectWebhook } from "../connect/webhook.ts";
import { connectWhatsapp } from "../connect/whatsapp.ts";
import { connectWhatsappWeb } from "../connect/whatsapp-web.ts";

export const connectGroup: Group = {
  summary: "connect a channel",
  actions: {
    telegram: connectTelegram,
    whatsapp: connectWhatsapp,
    "whatsapp-web": connectWhatsappWeb,
    webhook: connectWebhook,
  },
};
