import { expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { accountOf } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { MessageIngress, type MessageIngressHost } from "./message-ingress.ts";

it("keeps the order of one conversation if the first message's person is found later than the second's (L2)", async () => {
  const store = openMemoryStore();
  const ports = { store, ids: seededIds("ingress"), clock: virtualClock() } as unknown as Ports;
  const first = Promise.withResolvers<void>();
  let asked = 0;
  const view = { sender: accountOf };
  const host = {
    emit: () => {},
    claimFor: () => undefined,
    people: {
      directory: { recent: async () => (asked++ === 0 ? first.promise.then(() => view) : view) },
      personOfNew: async () => accountOf("test", "ann"),
    },
  } as unknown as MessageIngressHost;
  const ingress = new MessageIngress(ports, {}, host);
  const descriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" } as const;
  const sender = { connector: "test", userId: "ann" };
  const post = (text: string) => ingress.post({ to: { descriptor }, body: { kind: "user", text }, sender });
  const posted = [post("one"), post("two"), post("three")];
  first.resolve();
  const seqs = (await Promise.all(posted)).map((result) => (result.status === "stale" ? undefined : result.seq));
  expect(seqs).toEqual([1, 2, 3]);
});
