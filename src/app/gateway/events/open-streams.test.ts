import { expect, it } from "vitest";
import type { Principal } from "../auth/principal.ts";
import { OpenStreams } from "./open-streams.ts";

const token = (id: string): Principal => ({ id, name: id, kind: "old", scopes: ["chat"] });
const [one, other] = [token("one"), token("other")];
const stream = (closed: string[] = []) => ({ close: (reason: string) => void closed.push(reason) });

it("has room up to the limit of one token, and up to the limit of all", () => {
  const streams = new OpenStreams(() => ({ streams: 3, streamsPerToken: 2 }));
  streams.add(one, stream());
  expect(streams.hasRoom(one)).toBe(true);
  const remove = streams.add(one, stream());
  expect([streams.hasRoom(one), streams.hasRoom(other)]).toEqual([false, true]);
  streams.add(other, stream());
  expect([streams.count, streams.hasRoom(other), streams.hasRoom(token("third"))]).toEqual([3, false, false]);
  remove();
  remove();
  expect([streams.count, streams.hasRoom(one), streams.hasRoom(other)]).toEqual([2, true, true]);
});

it("closes the streams of a token that was revoked, and no others", () => {
  const streams = new OpenStreams(() => ({ streams: 9, streamsPerToken: 9 }));
  const [ones, others]: [string[], string[]] = [[], []];
  streams.add(one, stream(ones));
  const remove = streams.add(one, stream(ones));
  streams.add(other, stream(others));
  remove();
  streams.closeOf(["one", "none"], "revoked");
  expect([ones, others]).toEqual([["revoked"], []]);
  streams.closeAll("shutdown");
  expect([ones, others]).toEqual([["revoked", "shutdown"], ["shutdown"]]);
});
