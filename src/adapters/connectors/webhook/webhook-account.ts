/**
 * One program as a channel. It is answered after the commit; a request that it repeats has the same id and is the same message. A delivery
 * has the id of the delivery at every attempt.
 */
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import { WEBHOOK_CHANNEL } from "../../../core/delivery/route.ts";
import type { FileReference } from "../../../core/file-reference.ts";
import type {
  ChannelAnswer,
  ChannelRequest,
  Connector,
  ConnectorFiles,
  ConnectorHost,
} from "../../../core/ports/connector.ts";
import { sameText } from "../../../engine/triggers/webhooks/check-signature.ts";
import { httpPost } from "../../system/http-post.ts";
import type { AccountToOpen } from "../accounts/connector-kind.ts";
import { chatOrder } from "../chat/event-work.ts";
import { groupWindow } from "../chat/group-window.ts";
import { parsedJson } from "../chat/parsed-json.ts";
import { type TakeIn, takeMessage } from "../chat/take-in.ts";
import { type Posted, readPosted } from "./read-posted.ts";
import { postSigned, signatureOf } from "./signed-post.ts";
import { WEBHOOK } from "./webhook-kind.ts";

interface WebhookAccountOptions extends Omit<AccountToOpen, "load"> {
  readonly sendUrl: string;
  /** Signs both ways. Throws if it is missing. */
  secret(): string;
}

/** How far the time of a signature may be from now. Someone who has seen a request cannot repeat it later. */
const REPLAY_WINDOW_MS = 5 * 60_000;
const TELL_MS = 10_000;

const json = (status: number, body: object): ChannelAnswer => ({
  ...{ status, text: `${JSON.stringify(body)}\n`, type: "application/json; charset=utf-8" },
});

export function webhookAccount(options: WebhookAccountOptions): Connector {
  const { name, accountId, settings, ports, sendUrl, secret } = options;
  const { clock, log } = ports;
  const inOrder = chatOrder();
  const window = groupWindow();
  const stop = new AbortController();
  let files: ConnectorFiles | undefined;
  let lastError: { at: number; text: string } | undefined;
  let problem: string | undefined;

  const send = async (id: string, body: object, signal: AbortSignal) => {
    const result = await postSigned(
      { clock, post: httpPost },
      { url: sendUrl, secret, id, body: JSON.stringify({ id, ...body }) },
      signal,
    );
    problem = result.status === "sent" ? undefined : result.reason;
    if (problem !== undefined) lastError = { at: clock.now(), text: problem };
    return result;
  };
  const takeInFor = (host: ConnectorHost, { contents }: Posted): TakeIn => ({
    ...{ channel: WEBHOOK_CHANNEL, host, accountId, activation: settings.groups.activation, window },
    self: { names: [] },
    isProgram: true,
    fetching: {
      files: host.files,
      download: async ({ fileId }, limit) => {
        const data = Buffer.from(contents.get(fileId) ?? "", "base64");
        return data.length > limit ? { refused: `it is larger than ${limit} bytes` } : data;
      },
    },
  });
  /** One line to someone who is not known. Best effort: it is not a delivery, and is never repeated. */
  const tell = async (to: string, messageId: string, text: string): Promise<void> => {
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(TELL_MS)]);
    const result = await send(`say-${messageId}`, { to, text }, signal);
    if (result.status !== "sent")
      log.warn("a stranger could not be told how to be let in", { account: name, reason: result.reason });
  };

  return {
    name: WEBHOOK_CHANNEL,
    ...WEBHOOK.traits,
    once: true,
    async start(host) {
      secret();
      files = host.files;
    },
    async stop() {
      stop.abort();
    },
    health: () => ({ ok: problem === undefined, detail: problem ?? sendUrl, lastError }),
    async receive(request, host) {
      if (!isSigned(request, secret(), clock.now())) return { status: 401 };
      if (request.method !== "POST") return json(405, { error: "messages are posted" });
      const posted = readPosted(parsedJson(request.raw), clock.now());
      if ("wrong" in posted) return json(400, { error: posted.wrong });
      const accepted = await inOrder(posted.chatId, () => takeMessage(takeInFor(host, posted), posted));
      if (accepted?.status === "refused" && accepted.say !== undefined)
        void tell(posted.chatId, posted.messageId, accepted.say);
      return json(200, { status: accepted?.status ?? "heard" });
    },
    async send({ id, target, payload }, signal) {
      if (payload.action) return { status: "refused", reason: "This channel cannot change messages.", tell: true };
      const { text, replyToId: replyTo, isError } = payload;
      const content = payload.files && (await contentsOf(files, payload.files));
      return send(id, { ...placeOf(target), text, replyTo, isError, files: content }, signal);
    },
  };
}

const placeOf = ({ to, threadId: thread }: DeliveryContext) => ({ to, thread });

/** A file that is gone is named without its content. */
const contentsOf = (files: ConnectorFiles | undefined, wanted: readonly FileReference[]): Promise<readonly object[]> =>
  Promise.all(
    wanted.map(async ({ id, name, mimeType }) => {
      const data = await files?.read({ id });
      return { name, mimeType, data: data && Buffer.from(data).toString("base64") };
    }),
  );

/** Over the bytes as they came, in constant time, and only if the time is near. */
function isSigned({ header, raw }: ChannelRequest, secret: string, now: number): boolean {
  const at = header("x-rookery-timestamp") ?? "";
  const isRight = sameText(header("x-rookery-signature") ?? "", `v1=${signatureOf(secret, at, raw)}`);
  return isRight && /^\d{1,12}$/.test(at) && Math.abs(now - Number(at) * 1_000) <= REPLAY_WINDOW_MS;
}
