/**
 * `rookery connect whatsapp-web`: installs the package, adds the account, and shows the code that links the phone. Every step can be given by
 * a flag.
 */
import { UsageError } from "../../../core/errors.ts";
import type { ConnectorItem } from "../../gateway/api/connector-routes.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { requirePackages } from "../ensure-packages.ts";
import { loginText } from "../login-text.ts";
import { addEntry, askText, configWith, entryName, entryText, packagesOf } from "./entry.ts";

const LINK_MS = 180_000;
const LOOK_EVERY_MS = 1_000;

const digitsOf = (number: string, what: string): string => {
  const digits = number.replaceAll(/[\s()+.-]/gu, "");
  if (/^\d{6,20}$/u.test(digits)) return digits;
  throw new UsageError(`${what} has digits only, such as +49 170 1234567.`);
};

export const connectWhatsappWeb = defineAction({
  summary: "link a phone over WhatsApp Web",
  description:
    "Links this program to a phone, as a browser is linked. A message that is being received when the process is killed can be lost; `rookery connect whatsapp` has no such gap.",
  options: {
    name: { type: "string", value: "NAME", description: "the name of the entry (default: whatsapp-web)" },
    phone: {
      type: "string",
      value: "NUMBER",
      description: "the phone's number: it gets a code to type instead of one to scan",
    },
    owner: { type: "string", value: "NUMBER", description: "your own phone number, with the code of the country" },
    yes: { type: "boolean", description: "install what the channel needs without asking" },
  },
  async run(context) {
    const { flags, stdout } = context;
    const name = entryName(flags.name ?? "whatsapp-web");
    const phone = flags.phone === undefined ? undefined : digitsOf(flags.phone, "The phone's number");
    const given =
      flags.owner ?? (await askText(context, "Your own phone number, with the code of the country", "owner"));
    const owner = digitsOf(given, "The owner's number");
    const fields = {
      kind: name === "whatsapp-web" ? undefined : '"whatsapp-web"',
      pairPhone: phone && JSON.stringify(phone),
    };
    const config = configWith(context, name, entryText(fields));
    await requirePackages(context, packagesOf("whatsapp-web"), flags.yes ? "yes" : "ask");
    await addEntry(context, { name, config, secrets: [], owner: `whatsapp-web:${owner}` });
    stdout.write(`${await linked(context, name)}\n`);
    return undefined;
  },
});

/** Shows each new code until the phone is linked. */
async function linked(context: CommandContext, name: string): Promise<string> {
  let shown = "";
  for (const until = performance.now() + LINK_MS; performance.now() < until; ) {
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path: "/api/connectors" }))) as {
      items: readonly ConnectorItem[];
    };
    const found = items.find((one) => one.name === name);
    if (found?.state === "running") return `It is linked (${found.detail}). Write to it, and it answers.`;
    if (!found || found.detail.startsWith("no engine")) break;
    const text = found.login ? loginText(found.login) : "";
    if (text !== shown && text !== "") context.stdout.write(`${text}\n`);
    shown = text;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return "Start the engine with `rookery serve`; `rookery connectors` then shows the code that links the phone.";
}
