/** The whole engine with its gateway, and a server that speaks the Graph API of WhatsApp. The model calls the tool that a message names. */
import { FakeWhatsapp } from "../../../../test/whatsapp/fake-whatsapp.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import { lastText, type ModelCall, type Reply } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";

export const [OWNER, ANN, BOB] = ["4915001", "4915002", "4915003"] as const;
export const SECOND = "2066600";

/** A message that makes the model call a tool; its result ends the turn. */
export const call = (name: string, input: object): string => `call ${name} ${JSON.stringify(input)}`;

export class WhatsappWorld {
  readonly lines: LogLine[] = [];
  readonly prompts: string[] = [];
  /** What the model was asked last. */
  lastRequest: unknown;
  readonly clock = virtualClock();
  readonly fake = new FakeWhatsapp({
    ...{ clock: this.clock, statuses: true, bring: (request) => this.bring(request) },
  });
  #rookery: Rookery | undefined;

  static async open(): Promise<WhatsappWorld> {
    const world = new WhatsappWorld();
    const { token, appSecret, verifyToken, number, url: apiRoot } = await world.fake.start();
    const common = { token, appSecret, apiRoot, webhook: { secret: verifyToken } };
    world.#rookery = await createRookery({
      home: "memory",
      clock: world.clock,
      log: recordingLog(world.lines),
      model: scripted(...Array.from({ length: 200 }, () => (asked: ModelCall) => world.#script(asked))),
      config: {
        connectors: {
          whatsapp: { ...common, phoneNumberId: number },
          shop: {
            ...{ ...common, kind: "whatsapp", phoneNumberId: SECOND },
            template: { name: "news", language: "en_US" },
          },
          other: { ...common, kind: "whatsapp", phoneNumberId: "3077700", appSecret: "of another app" },
        },
        files: { maxBytes: 1_000_000 },
        owner: { accounts: [`whatsapp:${OWNER}`] },
        people: {
          records: {
            ann: { accounts: [`whatsapp:${ANN}`], grants: [{ ask: "current_time" }] },
            bob: { accounts: [`whatsapp:${BOB}`] },
          },
        },
      },
    });
    return world;
  }

  get rookery(): Rookery {
    if (!this.#rookery) throw new TypeError("not open");
    return this.#rookery;
  }

  async close(): Promise<void> {
    await this.fake.during(this.rookery.close());
    await this.fake.close();
  }

  ask(path: string, init: RequestInit = {}): Promise<Response> {
    return this.rookery.fetch(new Request(`http://127.0.0.1${path}`, init));
  }

  async bring(request: { body: string; headers: Record<string, string> }, account = "whatsapp"): Promise<number> {
    return (await this.ask(`/channels/${account}`, { method: "POST", ...request })).status;
  }

  async settle(): Promise<void> {
    await this.fake.until(() => this.fake.pending === 0);
    await this.fake.during(this.rookery.settled());
  }

  async outbox(state: "unconfirmed" | "failed" | "sent") {
    return (await this.rookery.outbox.list({ state })).items;
  }

  /** Waits until so many deliveries have ended so: what waits for its turn in a chat is not settled. */
  async ended(state: "unconfirmed" | "failed", count: number) {
    for (let n = 0; n < 500; n++) {
      await this.settle();
      const items = await this.outbox(state);
      if (items.length === count) return items;
      await this.clock.advance(50, () => new Promise((resolve) => setImmediate(resolve)));
    }
    throw new TypeError(`there are never ${count} deliveries that are ${state}`);
  }

  #script({ request }: ModelCall): Reply {
    this.lastRequest = request.messages;
    if (request.messages.at(-1)?.role === "tool") return `then: ${lastText(request, "tool")}`;
    const prompt = lastText(request);
    this.prompts.push(prompt);
    const [, name, json] = /call (\w+) (\{.*\})/su.exec(prompt) ?? [];
    return name === undefined ? `answer to ${prompt}` : { call: [{ name, with: JSON.parse(json ?? "{}") }] };
  }
}
