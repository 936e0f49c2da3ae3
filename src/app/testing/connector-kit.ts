/**
 * The contract of a connector as cases that any test runner can run against a fake of its platform: what comes in is acknowledged after
 * it is stored and is the same message when it is delivered again; what goes out ends in one of four ways, and an unknown end is never
 * repeated by the connector itself.
 */
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import type { Connector, OutgoingDelivery } from "../../core/ports/connector.ts";
import { INCOMING_CASES } from "./kit/incoming-cases.ts";
import { OUTGOING_CASES } from "./kit/outgoing-cases.ts";

/** A platform for the connector under test. A case that the platform cannot play is left out. */
export interface ConnectorPlatform {
  /** A new connector to the same platform, as a new process has it. */
  connector(): Connector | Promise<Connector>;
  /** A person writes. Returns something that names the message. Absent: nothing comes in on this channel. */
  say?(text: string): Promise<unknown> | unknown;
  /** False: who writes here has proven otherwise who they are. */
  readonly strangers?: false;
  /** The platform delivers the same message again. */
  sayAgain?(said: unknown): Promise<void> | void;
  /** Whether everything delivered so far was acknowledged. */
  isAcknowledged?(): boolean;
  /** Resolves when the connector has had the time to read the delivered messages. */
  settled?(): Promise<void>;
  /** Where a delivery can be sent. */
  readonly target: OutgoingDelivery["target"];
  /** The texts that people see. */
  shown(): readonly string[];
  /** The next send fails: never accepted, accepted and the answer lost, refused for good, or refused for now. */
  failNext?(how: "not-sent" | "lost-answer" | "refused" | "rate" | "form"): void;
  /** The person changes a message that was said. */
  edit?(said: unknown, text: string): Promise<void> | void;
  /** The person sends two parts as one, such as an album; the second comes in a later request. */
  sayParts?(first: string, second: string): Promise<void> | void;
  /** The person presses the Stop that was shown for this run, before or after its end. */
  pressStop?(runId: string): Promise<void> | void;
  /** How many drafts and typing marks were shown so far. */
  previews?(): number;
  /** A place in a thread that is gone. */
  readonly goneThread?: OutgoingDelivery["target"];
  /** Lets time pass. Default: the time of the machine. */
  wait?(ms: number): Promise<void>;
}

const PLATFORM: KeyTable<ConnectorPlatform> = {
  connector: true,
  say: true,
  strangers: true,
  sayAgain: true,
  isAcknowledged: true,
  settled: true,
  target: true,
  shown: true,
  failNext: true,
  edit: true,
  sayParts: true,
  pressStop: true,
  previews: true,
  goneThread: true,
  wait: true,
};

export interface ConnectorCase {
  readonly name: string;
  /** Rejects with what is wrong. */
  run(): Promise<void>;
}

/** Every case that this platform can play, for `it.each` of any test runner. */
export function connectorKit(platform: () => ConnectorPlatform | Promise<ConnectorPlatform>): readonly ConnectorCase[] {
  return [...INCOMING_CASES, ...OUTGOING_CASES].map(({ name, play }) => ({
    name,
    async run() {
      const one = await platform();
      assertKnownKeys("connectorKit()", one, PLATFORM);
      return play(one);
    },
  }));
}
