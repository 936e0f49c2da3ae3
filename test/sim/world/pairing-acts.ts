/**
 * The owner lets people in by their codes, through any node and sometimes twice at once; people get codes that link an account, and two
 * strangers write with the same one. Who got which code is recorded outside of the program.
 */
import { recordOf } from "../audit/audit-people.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import type { Channel } from "./channel.ts";

export interface PairingActs {
  /** Each code that links an account → the person who got it. */
  readonly linkCodes: ReadonlyMap<string, string>;
  /** The owner confirms a code that waits. */
  approve(): Promise<void>;
  /** A person who is known gets a code, and two strangers use it. */
  link(): Promise<void>;
}

interface Waiting {
  readonly code: string;
  readonly account: string;
}

export function makePairingActs(deps: AskDeps & { readonly channels: readonly Channel[] }): PairingActs {
  const { random, backend, channels } = deps;
  const linkCodes = new Map<string, string>();
  let strangers = 0;
  const approveAs = ({ code }: Waiting, as: string | undefined): void => {
    askNode(deps, "approve", {
      about: `let in ${code} as ${as ?? "a new person"}`,
      ask: (one) => one.approve(code, as),
    });
  };
  const write = (code: string): void => {
    const channel = random.pick(channels);
    const userId = `x${++strangers}`;
    channel.write(
      {
        ...{
          connector: channel.name,
          userId,
          channelId: userId,
          messageId: `link-${strangers}`,
          text: `/link ${code}`,
        },
        delivery: { channel: channel.name, to: userId },
      },
      undefined,
    );
  };
  return {
    linkCodes,
    async approve() {
      const book = JSON.parse((await backend.reader.fact("pairing")) ?? "{}") as { requests?: readonly Waiting[] };
      const waiting = book.requests ?? [];
      if (waiting.length === 0) return;
      const one = random.pick(waiting);
      approveAs(one, undefined);
      if (random.chance(0.5)) approveAs(one, recordOf(one.account.slice(one.account.indexOf(":") + 1)));
    },
    async link() {
      const known = await backend.reader.people({ limit: 100 });
      if (known.length === 0) return;
      const { id } = random.pick(known);
      askNode(deps, "linkCode", {
        about: `give ${id} a code`,
        ask: (one) => one.linkCode(id),
        onAnswer(code) {
          linkCodes.set(code, id);
          write(code);
          write(code);
        },
      });
    },
  };
}
