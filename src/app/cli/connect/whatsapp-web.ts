/**
 * `rookery channels add whatsapp-web`: installs the package, adds the account, and shows the code that links the phone. Every step can be given by
 * a flag.
 */
import { UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { requirePackages } from "../ensure-packages.ts";
import { writeLogin } from "../login-text.ts";
import { addEntry, askText, configWith, connected, entryName, entryText, packagesOf, statesOf } from "./entry.ts";

const LINK_MS = 180_000;
const LOOK_EVERY_MS = 250;

const digitsOf = (number: string, what: string): string => {
  const digits = number.replaceAll(/[\s()+.-]/gu, "");
  if (/^\d{6,20}$/u.test(digits)) return digits;
  throw new UsageError(`${what} has digits only, such as +49 170 1234567.`);
};

export const connectWhatsappWeb = defineAction({
  summary: "link a phone over WhatsApp Web",
  description:
    "Links this program to a phone, as a browser is linked. A message that is being received when the process is killed can be lost; `rookery channels add whatsapp` has no such gap.",
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
    const { flags } = context;
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
    const added = await addEntry(context, { name, config, secrets: [], owner: `whatsapp-web:${owner}` });
    return connected(context, { ...added, state: await linked(context, name) });
  },
});

/** Shows each new code until the phone is linked. */
async function linked(context: CommandContext, name: string): Promise<string> {
  let shown = "";
  for await (const { state, detail, login } of statesOf(context, name, { forMs: LINK_MS, everyMs: LOOK_EVERY_MS })) {
    if (state === "running") return `It is linked (${detail}). Write to it, and it answers.`;
    const text = login ? JSON.stringify(login) : "";
    if (login && text !== shown) writeLogin(context.json ? context.stderr : context.stdout, login);
    shown = text;
  }
  return shown === ""
    ? "Start the engine with `rookery serve`; `rookery channels list` then shows the code that links the phone."
    : "The phone is not linked yet. `rookery channels list` shows the code.";
}
